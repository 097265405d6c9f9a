import type { Argument, Command, Option } from 'commander'
import type { AgentControl, Control } from '../../../contracts/index.ts'
import type { Session } from '../session.ts'
import { CompletingArgument, CompletingOption, type CompletionKind, type Cursor, findOption } from './command-line.ts'

/** A word that can stand at the cursor, and what it is. */
export interface Candidate {
  value: string
  about?: string | undefined
}

type Lookup = (kind: CompletionKind) => Promise<Candidate[]>

/** Everything that can stand at the cursor and begins with what was written there. */
export async function findCandidates(cursor: Cursor, lookup: Lookup): Promise<Candidate[]> {
  const all = await allCandidates(cursor, lookup)
  return all.filter(({ value }) => value.startsWith(cursor.current) || value.startsWith(':'))
}

async function allCandidates(
  { command, current, option, argument, literal, takesCommand }: Cursor,
  lookup: Lookup,
): Promise<Candidate[]> {
  if (option && !(option.variadic && current.startsWith('-'))) return await values(option, lookup)
  const [flag = '', value] = current.split(/=(.*)/s)
  const assigned = literal || value === undefined ? undefined : findOption(command, flag)
  if (assigned) {
    const found = await values(assigned, lookup)
    return found.map(({ value, about }) => ({ value: value.startsWith(':') ? value : `${flag}=${value}`, about }))
  }
  if (current.startsWith('-') && !literal) return optionNames(command)
  return [...(takesCommand ? commandNames(command) : []), ...(argument ? await values(argument, lookup) : [])]
}

async function values(target: Option | Argument, lookup: Lookup): Promise<Candidate[]> {
  if (target.argChoices) return target.argChoices.map(value => ({ value }))
  const isKnown = target instanceof CompletingArgument || target instanceof CompletingOption
  return isKnown ? await lookup(target.completes) : []
}

function optionNames(command: Command): Candidate[] {
  const help = command.createHelp()
  const options = [...help.visibleGlobalOptions(command), ...help.visibleOptions(command)]
  // An option of the command replaces one of the program that has the same name.
  const byName = new Map(options.map(({ long, short = '', description }) => [long ?? short, description]))
  return [...byName].map(([value, about]) => ({ value, about }))
}

function commandNames(command: Command): Candidate[] {
  const visible = command.createHelp().visibleCommands(command)
  return visible.map(each => ({ value: each.name(), about: each.summary() || each.description() }))
}

/** Finds no names. Paths are completed by the shell: `:files` and `:dirs` tell it so. */
export const pathsAlone: Lookup = async kind => (kind === 'files' || kind === 'dirs' ? [{ value: `:${kind}` }] : [])

/** Finds names through `Control`; an agent is shown its own. */
export function createLookup(connect: Session['connectAsAgent']): Lookup {
  return async kind => {
    if (kind === 'files' || kind === 'dirs') return await pathsAlone(kind)
    return await connect(async (control, owner) => {
      if (kind === 'tool' || kind === 'section') return NAMES[kind](control)
      return owner ? NAMES[kind](owner) : []
    })
  }
}

type Tools = Pick<AgentControl, 'tools'>

const NAMES = {
  tool: async (control: Tools) => (await control.tools({})).map(({ name, short }) => ({ value: name, about: short })),
  section: async (control: Tools) =>
    [...new Set((await control.tools({})).map(tool => tool.section))].map(value => ({ value })),
  agent: async (control: Control) =>
    (await control.agents({})).map(({ name, title }) => ({ value: name, about: title })),
  capability: async (control: Control) =>
    (await control.capabilities({})).map(({ key, short }) => ({ value: key, about: short })),
  upstream: async (control: Control) =>
    (await control.upstreams({})).map(({ name, state }) => ({ value: name, about: state })),
  /** Every name alone, and with its kind for where two are the same. */
  anything: async (control: Control): Promise<Candidate[]> => {
    const { dependencies } = await control.status({})
    const byKind = {
      tool: await NAMES.tool(control),
      dependency: dependencies.map(({ name, state }) => ({ value: name, about: state })),
      capability: await NAMES.capability(control),
    }
    const plain = new Map(Object.values(byKind).flatMap(list => list.map(one => [one.value, one])))
    const exact = Object.entries(byKind).flatMap(([kind, list]) =>
      list.map(({ value, about }) => ({ value: `${kind}:${value}`, about })),
    )
    return [...plain.values(), ...exact]
  },
}
