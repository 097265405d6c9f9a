import type { Argument, Command, Option } from 'commander'
import { CompletingArgument, CompletingOption, type CompletionKind } from './kinds.ts'
import { findOption, type Place } from './place.ts'

/** A word that can stand at the cursor, and what it is. */
export interface Candidate {
  value: string
  about?: string | undefined
}

/** Finds what can stand where something named stands. */
export type Lookup = (kind: CompletionKind) => Promise<Candidate[]>

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
