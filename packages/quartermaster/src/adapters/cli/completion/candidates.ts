import type { Argument, Command, Option } from 'commander'
import type { AgentControl, Control } from '../../../contracts/index.ts'
import type { Session } from '../session.ts'
import { CompletingArgument, CompletingOption, type CompletionKind, findOption, type Place } from './command-line.ts'

/** A word that can stand at the cursor, and what it is. */
export interface Candidate {
  value: string
  about?: string | undefined
}

/** Finds what can stand where something named stands. */
type Lookup = (kind: CompletionKind) => Promise<Candidate[]>

/** Everything that can stand at the cursor, narrowed to what has been written there. */
export async function findCandidates(place: Place, lookup: Lookup): Promise<Candidate[]> {
  const all = await possible(place, lookup)
  return all.filter(({ value }) => value.startsWith(place.current) || value.startsWith(':'))
}

async function possible(place: Place, lookup: Lookup): Promise<Candidate[]> {
  const { command, current, option, literal } = place
  if (option && !(option.variadic && current.startsWith('-'))) return await values(option, lookup)
  const [flag = '', value] = current.split(/=(.*)/s)
  const assigned = literal || value === undefined ? undefined : findOption(command, flag)
  if (assigned) return prefixed(await values(assigned, lookup), `${flag}=`)
  if (current.startsWith('-') && !literal) return optionNames(command)
  return [
    ...(place.takesCommand ? commandNames(command) : []),
    ...(place.argument ? await values(place.argument, lookup) : []),
  ]
}

async function values(target: Option | Argument, lookup: Lookup): Promise<Candidate[]> {
  if (target.argChoices) return target.argChoices.map(value => ({ value }))
  return target instanceof CompletingArgument || target instanceof CompletingOption
    ? await lookup(target.completes)
    : []
}

function prefixed(candidates: readonly Candidate[], prefix: string): Candidate[] {
  return candidates.map(({ value, about }) => ({ value: value.startsWith(':') ? value : prefix + value, about }))
}

function optionNames(command: Command): Candidate[] {
  const help = command.createHelp()
  const options = [...help.visibleGlobalOptions(command), ...help.visibleOptions(command)]
  // One of the command's own may be called as one of the program.
  const byName = new Map(options.map(({ long, short = '', description }) => [long ?? short, description]))
  return [...byName].map(([value, about]) => ({ value, about }))
}

function commandNames(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .map(each => ({ value: each.name(), about: each.summary() || each.description() }))
}

/** Finds no names. Paths are left to the shell: `:files` and `:dirs` tell it so. */
export const pathsAlone: Lookup = async kind => (isPath(kind) ? [{ value: `:${kind}` }] : [])

/** Finds names through `Control`, an agent its own. */
export function createLookup(connect: Session['connectAsAgent']): Lookup {
  return async kind => {
    if (isPath(kind)) return await pathsAlone(kind)
    return await connect(async (control, owner) => {
      if (kind === 'tool' || kind === 'section') return FIND[kind](control)
      return owner ? FIND[kind](owner) : []
    })
  }
}

function isPath(kind: CompletionKind): kind is 'files' | 'dirs' {
  return kind === 'files' || kind === 'dirs'
}

type Find = (control: Control) => Promise<Candidate[]>
type FindOwn = (control: Pick<AgentControl, 'tools'>) => Promise<Candidate[]>

const tools: FindOwn = async control =>
  (await control.tools({})).map(({ name, short }) => ({ value: name, about: short }))

const agents: Find = async control =>
  (await control.agents({})).map(({ name, title }) => ({ value: name, about: title }))

const capabilities: Find = async control =>
  (await control.capabilities({})).map(({ key, short }) => ({ value: key, about: short }))

const upstreams: Find = async control =>
  (await control.upstreams({})).map(({ name, state }) => ({ value: name, about: state }))

const dependencies: Find = async control =>
  (await control.status({})).dependencies.map(({ name, state }) => ({ value: name, about: state }))

const sections: FindOwn = async control =>
  [...new Set((await control.tools({})).map(tool => tool.section))].map(value => ({ value }))

/** Every name by itself, and with its kind for where two are the same. */
const anything: Find = async control => {
  const found = await Promise.all([tools(control), dependencies(control), capabilities(control)])
  const plain = new Map(found.flat().map(candidate => [candidate.value, candidate]))
  const exact = found.flatMap((list, i) => list.map(({ value, about }) => ({ value: `${PREFIXES[i]}${value}`, about })))
  return [...plain.values(), ...exact]
}

const PREFIXES = ['tool:', 'dependency:', 'capability:'] as const

const FIND = {
  tool: tools,
  agent: agents,
  capability: capabilities,
  upstream: upstreams,
  section: sections,
  anything,
} as const satisfies Record<Exclude<CompletionKind, 'files' | 'dirs'>, Find | FindOwn>
