import { Name, type PinKind, type Problem, type UpstreamConfig } from '../../contracts/index.ts'
import { type Clock, type Digest, didYouMean, inTurns, type Steps, upstreamUnit } from '../kernel/index.ts'
import { comparableName, skeletonOf } from './scan/look-alikes.ts'
import type { OtherNames } from './scan/names.ts'
import { excerptOf } from './visible-text.ts'

export interface OfferedNamesOptions {
  readonly upstream: string
  /** The prefix, followed by `_`; `false` for none. */
  readonly prefix: string | false
  /** The server's own names. */
  readonly names: readonly string[]
  /** Names that the configuration gives, by the server's own name. They get no prefix. */
  readonly given?: ReadonlyMap<string, string> | undefined
  readonly kind?: 'tool' | 'prompt' | undefined
  readonly digest: Digest
}

/** Offered names by the server's own; a name that could not be offered is missing. */
export interface OfferedNames {
  readonly names: ReadonlyMap<string, string>
  readonly problems: readonly Problem[]
}

const LONGEST = 64

/**
 * Makes names that every runtime takes. They depend on the names alone and not on their order, so that a server which lists its
 * tools differently tomorrow still offers the same names.
 */
export function offeredNames(options: OfferedNamesOptions): OfferedNames {
  const { upstream, prefix, names, given = new Map<string, string>(), kind = 'tool', digest } = options
  const unique = [...new Set(names)].sort()
  const problems: Problem[] = []
  const tell = (own: string, message: string) =>
    problems.push({
      ...problemWith(upstream, `${kind}:${excerptOf(own)}`, message),
      fix: FIXES[kind](upstream),
    })
  const result = new Map<string, string>()
  const taken = new Set<string>()
  const take = (own: string, name: string) => {
    result.set(own, name)
    taken.add(name)
  }

  const left = unique.filter(own => {
    const name = given.get(own)
    if (name === undefined) return true
    if (!taken.has(name)) return void take(own, name)
    tell(own, `is to be called "${name}", and so is another. It keeps the name made from its own.`)
    return true
  })
  const wishes = left.map(own => wantedName(own, prefix))
  for (const { own, name, isExact } of wishes) if (isExact && !taken.has(name)) take(own, name)
  const shared = counted(wishes.map(wish => wish.name))
  for (const { own, name, isCut } of wishes) {
    if (result.has(own)) continue
    const isAlone = shared.get(name) === 1 && !taken.has(name) && !isCut && Name.safeParse(name).success
    const final = isAlone ? name : distinct(name, own, taken, digest)
    if (final === undefined) tell(own, 'has no name of its own that it could be offered under. It is left out.')
    else take(own, final)
    if (final !== undefined && !isAlone && !isCut)
      tell(own, `would be called "${name}" like another. It is "${final}".`)
  }
  return { names: result, problems }
}

interface WantedName {
  readonly own: string
  readonly name: string
  /** The server's own name is unchanged. */
  readonly isExact: boolean
  readonly isCut: boolean
}

function wantedName(own: string, prefix: string | false): WantedName {
  const whole = prefix === false ? own : `${prefix}_${own}`
  const name = whole.replace(/[^A-Za-z0-9_-]/gu, '_')
  const isCut = name.length > LONGEST
  return { own, name, isCut, isExact: name === whole && Name.safeParse(name).success }
}

function counted(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** Longer and longer, in case a server has provoked a collision of the short digests. */
const DIGEST_LENGTHS = [8, 16, 32] as const

function distinct(name: string, own: string, taken: ReadonlySet<string>, digest: Digest): string | undefined {
  const hash = digest(own)
  const candidates = DIGEST_LENGTHS.map(length => `${name.slice(0, LONGEST - 1 - length)}_${hash.slice(0, length)}`)
  return candidates.find(candidate => !taken.has(candidate))
}

const FIXES = {
  tool: (upstream: string) =>
    `A tool can be given a name in the configuration: "mcpServers": { "${upstream}": { "tools": … } }.`,
  prompt: (upstream: string) =>
    `A prompt keeps its name. Leave them out where they are not needed: "mcpServers": { "${upstream}": { "prompts": false } }.`,
} as const

function problemWith(upstream: string, subject: string, message: string): Problem {
  return {
    severity: 'warning',
    code: 'DEFINITION_INVALID',
    where: upstreamUnit(upstream),
    subject,
    message: `${subject.replace(':', ' "')}" of "${upstream}" ${message}`,
  }
}

/** A tool of any server or of the project. */
export interface NamedTool {
  /** As agents call it. */
  readonly name: string
  /** The unit it comes from. */
  readonly unit: string
}

/** Tools of all units but this one. */
export type ToolsOfOthers = (unit: string) => Promise<OtherNames>

interface ToolsOfOthersDeps {
  /** All tools; the same map while they are unchanged. */
  tools(): Promise<ReadonlyMap<string, NamedTool>>
  /** The tool's name at its own server. */
  ownNameOf(tool: NamedTool): string
  readonly clock: Pick<Clock, 'now' | 'breathe'>
}

/** Prepares the names for comparison once, because a hundred servers may ask for the same ones. */
export function createToolsOfOthers({ tools, ownNameOf, clock }: ToolsOfOthersDeps): ToolsOfOthers {
  const made = new WeakMap<object, Promise<ToolNames>>()
  return async unit => {
    const all = await tools()
    const names = made.get(all) ?? inTurns(toolNamesOf(all.values(), ownNameOf), clock)
    made.set(all, names)
    return namesBut(await names, unit)
  }
}

type Tools = Map<string, NamedTool[]>

interface ToolNames {
  readonly byLetters: Tools
  /** Tools with another name at their own server. */
  readonly onlyHere: Tools
  readonly byOwnLetters: Tools
  readonly bySkeleton: Tools
}

function* toolNamesOf(tools: Iterable<NamedTool>, ownNameOf: ToolsOfOthersDeps['ownNameOf']): Steps<ToolNames> {
  const names: ToolNames = { byLetters: new Map(), onlyHere: new Map(), byOwnLetters: new Map(), bySkeleton: new Map() }
  for (const tool of tools) {
    const letters = comparableName(tool.name)
    const own = comparableName(ownNameOf(tool))
    add(names.byLetters, letters, tool)
    add(names.bySkeleton, skeletonOf(tool.name), tool)
    if (own !== letters) {
      add(names.onlyHere, letters, tool)
      add(names.byOwnLetters, own, tool)
    }
    yield
  }
  return names
}

/** At most a few of each unit: one unit with many similar names must not hide another's. */
function add(tools: Tools, key: string, tool: NamedTool): void {
  const list = tools.get(key) ?? []
  tools.set(key, list)
  if (list.filter(({ unit }) => unit === tool.unit).length < MOST_OF_A_UNIT) list.push(tool)
}

const MOST_OF_A_UNIT = 2

function namesBut({ byLetters, onlyHere, byOwnLetters, bySkeleton }: ToolNames, own: string): OtherNames {
  const foreign = (tools: Tools, key: string) => tools.get(key)?.filter(({ unit }) => unit !== own) ?? []
  return {
    named: letters => foreign(byLetters, letters)[0]?.name,
    namedOnlyHere: letters => foreign(onlyHere, letters)[0]?.name,
    calledByItsServer: letters => foreign(byOwnLetters, letters)[0]?.name,
    alike: skeleton => foreign(bySkeleton, skeleton).map(({ name }) => name),
  }
}

/** The settings that choose tools. */
type ToolWishes = Pick<UpstreamConfig, 'offer' | 'leaveOut' | 'tools'>

/** Whether the configuration lets a tool through, by the server's own name. */
export function wantsTool(wishes: ToolWishes, name: string): boolean {
  return whyUnwanted(wishes, name) === undefined
}

/** The setting that leaves this tool out, if any does. */
function whyUnwanted({ offer, leaveOut, tools }: ToolWishes, name: string): string | undefined {
  const options = Object.hasOwn(tools, name) ? tools[name] : undefined
  if (options?.offer === false) return '"tools" says "offer": false of it'
  if (offer !== undefined && !offer.includes(name)) return '"offer" does not name it'
  return leaveOut?.includes(name) ? '"leaveOut" names it' : undefined
}

/** The tools that the configuration leaves out, with the setting that does so. */
export function unwantedTools(
  upstream: string,
  wishes: ToolWishes,
  names: Iterable<string>,
): { readonly name: string; readonly reason: string }[] {
  return [...new Set(names)].flatMap(name => {
    const why = whyUnwanted(wishes, name)
    if (why === undefined) return []
    return [{ name, reason: `The owner leaves it out: in the entry of "${upstream}" in "mcpServers", ${why}.` }]
  })
}

/** The same for any kind of definition. Instructions are used with whatever else is. */
export function wantsDefinition(config: UpstreamConfig, { kind, name }: { kind: PinKind; name: string }): boolean {
  if (kind === 'tool') return wantsTool(config, name)
  if (kind === 'prompt') return config.prompts
  return kind === 'server' || config.resources
}

/** Tools in the configuration that the server does not have: a misspelled name would do nothing, silently. */
export function unknownTools(upstream: string, wishes: ToolWishes, known: readonly string[]): Problem[] {
  const { offer = [], leaveOut = [], tools } = wishes
  const named = [
    ...offer.map(name => ({ name, field: 'offer' })),
    ...leaveOut.map(name => ({ name, field: 'leaveOut' })),
    ...Object.keys(tools).map(name => ({ name, field: `tools.${name}` })),
  ]
  return named
    .filter(({ name }) => !known.includes(name))
    .map(({ name, field }) => ({
      severity: 'warning',
      code: 'CONFIG_INVALID',
      where: upstreamUnit(upstream),
      subject: `tool:${name}`,
      field: `mcpServers.${upstream}.${field}`,
      message: `"${upstream}" has no tool "${name}".${didYouMean(name, known)}`,
    }))
}
