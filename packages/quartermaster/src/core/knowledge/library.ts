import { type DocState, type ResolutionEntry } from '../../contracts/index.ts'
import { type Generation, type Knowledge, type Tool } from '../catalogue/index.ts'
import { type Health, missingInWords } from '../health/index.ts'
import {
  addTo,
  barePath,
  capabilityEntry,
  capabilityPath,
  type Entry,
  grouped,
  seesUnit,
  toolEntry,
  toolPath,
  type UnitReader,
  unitEntry,
  withheldEntry,
} from './entry.ts'
import { markdownLines } from './markdown.ts'

/** Everything to read about in a generation, for all readers. */
export interface Library {
  /** By path: units in order of path, then capabilities and tools in order of definition, then what comes with views. */
  readonly entries: ReadonlyMap<string, Entry>
  /** What a word names: by its path, as a tool or a capability; else by its file; else units by their other names. */
  named(name: string): Entry[]
  /** What lies directly above it: the units it names as parents and the one of its folder. */
  above(entry: Entry): readonly Entry[]
  /** What lies directly below it. */
  below(entry: Entry): readonly Entry[]
  /** What refers to it: as a tool it speaks of, as something to see also, or by taking it in. */
  referring(entry: Entry): readonly Entry[]
  /** Whether it is a tool that comes with a view: it is there for the sake of others, and speaks of what those do. */
  isOfView(entry: Entry): boolean
  /** Whether it is this path or lies below it, by folders or by parents. */
  isWithin(entry: Entry, scope: string): boolean
}

const libraries = new WeakMap<Generation, Library>()

/** The library of a generation, made when first used. */
export function libraryOf(generation: Generation): Library {
  const known = libraries.get(generation)
  if (known) return known
  const library = createLibrary(generation)
  libraries.set(generation, library)
  return library
}

function createLibrary({ knowledge, capabilities, tools, injections }: Generation): Library {
  const units = [...knowledge.values()].map(unitEntry).sort((a, b) => (a.path < b.path ? -1 : 1))
  const entries = new Map<string, Entry>()
  const put = (entry: Entry) => entries.set(entry.path, entry)
  for (const unit of units) put(unit)
  for (const capability of capabilities.values()) put(capabilityEntry(capability))
  const ofViews = new Set(injections.flatMap(one => one.tools))
  for (const tool of tools.values()) if (!ofViews.has(tool)) put(toolEntry(tool))
  const putNew = (entry: Entry) => entries.has(entry.path) || put(entry)
  for (const { key, leftOut } of capabilities.values()) for (const one of leftOut) putNew(withheldEntry(one, key))
  for (const tool of ofViews) putNew(toolEntry(tool))
  const at = (path: string) => entries.get(path) ?? []
  const byFile = new Map(
    units.flatMap(unit => ('unit' in unit.of ? [[barePath(unit.of.unit.unit), unit] as const] : [])),
  )
  const byAlias = grouped(units.flatMap(unit => [...otherNames(unit)].map(name => [name, unit] as const)))

  const above = (entry: Entry): readonly Entry[] => {
    const folder = folderUnit(entry.path, entries)
    const parents = entry.parents.flatMap(at)
    return folder === undefined || parents.includes(folder) ? parents : [...parents, folder]
  }
  // Only pages show these, and most who ask only search.
  const children = once(() => {
    const below = new Map<string, Entry[]>()
    for (const entry of entries.values()) for (const parent of above(entry)) addTo(below, parent.path, entry)
    return below
  })
  const links = once(() =>
    grouped(
      units.flatMap(unit =>
        referredBy(unit)
          .flatMap(at)
          .map(to => [to.path, unit] as const),
      ),
    ),
  )

  return {
    entries,
    named(name) {
      const path = barePath(name)
      // A path means the entry with that path, not one with that alias.
      const ways = [
        () => [path, toolPath(path), capabilityPath(path)].flatMap(at),
        () => byFile.get(path) ?? [],
        () => byAlias.get(spoken(path)) ?? [],
      ]
      for (const way of ways) {
        const found = [way()].flat()
        if (found.length > 0) return found
      }
      return []
    },
    above,
    below: ({ path }) => children().get(path) ?? [],
    referring: ({ path }) => [...new Set(links().get(path) ?? [])],
    isOfView: ({ of }) => 'tool' in of && ofViews.has(of.tool),
    isWithin: (entry, scope) => isWithin(entry, barePath(scope), above),
  }
}

/** Directions are also known by the word that they are called by. */
function otherNames({ aliases, command }: Entry): ReadonlySet<string> {
  return new Set([...aliases, ...(command === undefined ? [] : [command])].map(spoken))
}

const spoken = (alias: string): string => alias.trim().toLowerCase()

function referredBy({ tools, seeAlso, of }: Entry): string[] {
  const included = 'unit' in of ? includesIn(of.unit.body).map(({ path }) => path) : []
  return [...tools.map(toolPath), ...seeAlso, ...included]
}

/** The unit of the nearest folder that has one. */
function folderUnit(path: string, entries: ReadonlyMap<string, Entry>): Entry | undefined {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    const found = entries.get(path.slice(0, end))
    if (found) return found
  }
  return undefined
}

function isWithin(entry: Entry, scope: string, above: (entry: Entry) => readonly Entry[]): boolean {
  const seen = new Set<Entry>()
  const waiting = [entry]
  // Parents may form a circle; each is visited once.
  for (const one of waiting) {
    if (seen.has(one)) continue
    seen.add(one)
    if (one.path === scope || one.path.startsWith(`${scope}/`)) return true
    waiting.push(...above(one))
  }
  return false
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

/** As much of the health as says whether a tool works. */
type ToolHealth = Pick<Health, 'availability' | 'missing'>

/** The state of a tool now, in words. */
export function toolState(tool: Tool, health: ToolHealth): DocState {
  const { active, recovering } = health.availability(tool)
  if (!active) return { state: 'disabled', reason: missingInWords(health.missing(tool)) }
  if (!recovering) return { state: 'active' }
  const reason = missingInWords(health.missing(tool, { withRecovering: true }))
  return { state: 'active', reason: `${reason} A call waits for it.` }
}

interface CapabilityParts {
  /** Those that are offered. */
  readonly tools: readonly Tool[]
  /** Why others are not, one for each. */
  readonly withheld: readonly string[]
  /** Why its tools are not known yet. */
  readonly unseen: string | undefined
}

/** The state of a capability: it works as long as one of its tools does. */
function capabilityState({ tools, withheld, unseen }: CapabilityParts, health: ToolHealth): DocState {
  const disabled = tools.filter(tool => !health.availability(tool).active)
  const missing = new Map(disabled.flatMap(tool => health.missing(tool)).map(one => [one.dependency, one]))
  const all = tools.length + withheld.length
  const works = disabled.length < tools.length
  const reasons = [
    tools.length === 0 ? unseen : undefined,
    works && disabled.length > 0 ? `${disabled.length} of its ${all} tools are disabled.` : undefined,
    missingInWords([...missing.values()]),
    unseen === undefined || tools.length > 0 ? withheldText(withheld, all) : undefined,
  ].filter(part => part !== undefined && part !== '')
  // Where there is nothing to call there is nothing that could fail.
  const state = works || reasons.length === 0 ? 'active' : 'disabled'
  return reasons.length === 0 ? { state } : { state, reason: reasons.join(' ') }
}

function withheldText(withheld: readonly string[], all: number): string | undefined {
  const [first, ...others] = new Set(withheld)
  if (first === undefined) return undefined
  return `${countText(withheld.length, all)} offered now: ${others.length === 0 ? first : 'the page of each says why.'}`
}

function countText(count: number, all: number): string {
  if (count === all) return all === 1 ? 'Its one tool is not' : `None of its ${all} tools is`
  return `${count} of its ${all} tools ${count === 1 ? 'is' : 'are'} not`
}

/** Who reads: what they see, and in which state it is for them. */
export interface Reader {
  /** Whether they look after the project, and may read how it is configured. */
  readonly isOwner: boolean
  sees(entry: Entry): boolean
  /** Of tools and capabilities. */
  stateOf(entry: Entry): DocState | undefined
  /** The tools that an entry speaks of or consists of, as far as they are anything to this reader. */
  toolsOf(entry: Entry): readonly string[]
}

/** The owner of the project, who sees all. */
export function ownerReader(health: ToolHealth): Reader {
  return {
    isOwner: true,
    sees: () => true,
    stateOf({ of }) {
      if ('tool' in of) return toolState(of.tool, health)
      if ('withheld' in of) return { state: 'disabled', reason: of.withheld.reason }
      if ('unit' in of) return undefined
      const { tools, leftOut, unseen } = of.capability
      return capabilityState({ tools, withheld: leftOut.map(({ reason }) => reason), unseen }, health)
    },
    toolsOf: ({ tools }) => tools,
  }
}

/** What an agent has, as far as reading needs to know. */
export interface Readable extends UnitReader {
  readonly grants: ReadonlyMap<string, { readonly tool: Tool; readonly capability: string }>
  readonly withheld: readonly Pick<ResolutionEntry, 'capability' | 'tool' | 'calledAs' | 'reason'>[]
  /** Whether it can call a tool, working or not. */
  isOffered(tool: string): boolean
  readonly health: ToolHealth
}

/**
 * An agent: of tools and capabilities it sees those it was granted, held back or not, of directions those it has all tools
 * for. What it has not was never said to be there.
 */
export function agentReader({ grants, withheld, health, isOffered, has, isRemote }: Readable): Reader {
  const byCapability = grantedTools(grants)
  // By capability too: another one may have a tool of the same name that it was never given.
  const held = new Map(
    withheld.map(({ capability, tool, calledAs = tool, reason = NOT_OFFERED }) => [
      `${capability} ${calledAs}`,
      reason,
    ]),
  )
  const heldBy = grouped(withheld.map(({ capability, reason = NOT_OFFERED }) => [capability, reason] as const))
  const heldIn = (key: string) => heldBy.get(key) ?? []
  const whyHeld = ({ capability, name }: { capability: string; name: string }) => held.get(`${capability} ${name}`)
  return {
    isOwner: false,
    sees({ of }) {
      if ('unit' in of) return seesUnit(of.unit, { has, isRemote })
      if ('tool' in of) return isOffered(of.tool.name) || whyHeld(of.tool) !== undefined
      if ('withheld' in of) return whyHeld(of.withheld) !== undefined
      return byCapability.has(of.capability.key) || heldIn(of.capability.key).length > 0
    },
    stateOf({ of }) {
      if ('unit' in of) return undefined
      if ('withheld' in of) return { state: 'disabled', reason: whyHeld(of.withheld) ?? of.withheld.reason }
      if ('tool' in of) {
        const reason = isOffered(of.tool.name) ? undefined : whyHeld(of.tool)
        return reason === undefined ? toolState(of.tool, health) : { state: 'disabled', reason }
      }
      const { key, unseen } = of.capability
      return capabilityState({ tools: byCapability.get(key) ?? [], withheld: heldIn(key), unseen }, health)
    },
    toolsOf({ of, tools }) {
      if (!('capability' in of)) return tools.filter(has)
      return (byCapability.get(of.capability.key) ?? []).map(({ name }) => name)
    },
  }
}

const NOT_OFFERED = 'It is not offered now.'

const known = new WeakMap<Readable['grants'], ReadonlyMap<string, readonly Tool[]>>()

/** By capability. Grants stay the same object while nothing changes, and there may be ten thousand. */
function grantedTools(grants: Readable['grants']): ReadonlyMap<string, readonly Tool[]> {
  const before = known.get(grants)
  if (before) return before
  const tools = grouped([...grants.values()].map(({ tool, capability }) => [capability, tool] as const))
  known.set(grants, tools)
  return tools
}

/**
 * How much one unit may take in of others: a few short files must not make an endless one. All of it together stays below
 * what an answer may have by default, so that directions with what they include can be read at once.
 */
export const INCLUDE_LIMITS = { depth: 8, count: 200, bytes: 196_608 } as const

/** What of a unit is needed to take others into it. */
export type Includable = Pick<Knowledge, 'path' | 'body'>

/** Finds a unit to include; `undefined` for one the reader does not see. */
type FindIncludable = (path: string) => Includable | undefined

/** An include that could not be done. */
interface IncludeFault {
  /** The unit it stands in. */
  readonly unit: string
  /** The line of its body. */
  readonly line: number
  readonly message: string
}

// What is indented further is code.
const INCLUDE = /^ {0,3}\{\{[ \t]*include:([^{}]*)\}\}[ \t]*$/

interface Include {
  readonly path: string
  readonly line: number
}

/** The paths that a text includes, each on a line `{{include: guides/deploy}}` of its own. */
export function includesIn(body: string): readonly Include[] {
  if (!body.includes('{{')) return NONE
  return markdownLines(body).flatMap(({ text, number, isCode }) => {
    const path = isCode ? undefined : INCLUDE.exec(text)?.[1]
    return path === undefined ? [] : [{ path: barePath(path), line: number }]
  })
}

const NONE: readonly Include[] = []

/** The lines in which an include stands beside other words, where it means nothing. */
export function strayIncludes(body: string): number[] {
  if (!body.includes('{{')) return []
  return markdownLines(body).flatMap(({ text, number, isCode, prose }) => {
    if (isCode || /^(?: {4}|\t)/.test(text) || INCLUDE.test(text)) return []
    return /\{\{[ \t]*include:/.test(prose) ? [number] : []
  })
}

/** A unit and all that is taken into it, by path, as far as it is found. */
export function unitsIn<T extends Includable>(unit: T, find: (path: string) => T | undefined): ReadonlyMap<string, T> {
  const reached = new Map([[unit.path, unit]])
  // A map that grows while it is walked is walked to its end.
  for (const { body } of reached.values()) {
    for (const { path } of includesIn(body)) {
      const found = reached.has(path) ? undefined : find(path)
      if (found) reached.set(path, found)
    }
  }
  return reached
}

/**
 * A unit's text with its includes filled in. An include that fails is reported in its place, for the reader, and among the faults,
 * for the author.
 */
export function withIncludes(
  unit: Includable,
  find: FindIncludable,
): { readonly text: string; readonly faults: readonly IncludeFault[] } {
  if (includesIn(unit.body).length === 0) return { text: unit.body, faults: [] }
  const faults: IncludeFault[] = []
  const budget = { count: INCLUDE_LIMITS.count, bytes: INCLUDE_LIMITS.bytes - utf8Length(unit.body) }
  let isFull = false

  function expand({ path: within, body }: Includable, trail: readonly string[]): string {
    const includes = new Map(includesIn(body).map(({ path, line }) => [line, path]))
    if (includes.size === 0) return body
    const lines = markdownLines(body).flatMap(({ text, number: line }) => {
      const path = includes.get(line)
      if (path === undefined) return [text]
      const found = find(path)
      const message = found ? obstacle(found, trail) : undefined
      if (found && message === undefined) {
        budget.count--
        budget.bytes -= utf8Length(found.body)
        return [expand(found, [...trail, found.path])]
      }
      return told({ unit: within, line, message: message ?? `there is no unit "${path}".` }, { path, message })
    })
    return lines.join('\n')
  }

  /** What is said in the place of an include counts like what would stand there, and ends where there is no more room. */
  function told(fault: IncludeFault, { path, message }: { path: string; message: string | undefined }): string[] {
    if (isFull) return []
    // Whether there is one that is for others is not said.
    const words = `[Not included: ${message ?? `there is nothing for you to read at "${path}".`}]`
    budget.bytes -= utf8Length(words)
    // Why it was not is said at least once.
    isFull = faults.length >= MOST_TOLD || (budget.bytes < 0 && faults.length > 0)
    faults.push(isFull ? { ...fault, message: NO_MORE } : fault)
    return [isFull ? `[Not included: ${NO_MORE}]` : words]
  }

  function obstacle({ path, body }: Includable, trail: readonly string[]): string | undefined {
    if (trail.includes(path)) return `"${path}" includes itself: ${circle(path, trail)}.`
    if (trail.length > INCLUDE_LIMITS.depth) return `"${path}" is more than ${INCLUDE_LIMITS.depth} includes deep.`
    if (budget.count <= 0) return `"${path}" is one of more than ${INCLUDE_LIMITS.count} includes.`
    if (utf8Length(body) > budget.bytes) return `with "${path}" it would be longer than ${INCLUDE_LIMITS.bytes} bytes.`
    return undefined
  }

  return { text: expand(unit, [unit.path]), faults }
}

/** More are not fixed at once. */
const MOST_TOLD = 100
const NO_MORE = 'this line, and others below that are not told one by one.'

/** The way back to a unit, without what lies before it, and without what lies in the middle of a long one. */
function circle(path: string, trail: readonly string[]): string {
  const way = [...trail.slice(trail.indexOf(path)), path]
  return (way.length <= 4 ? way : [...way.slice(0, 2), '…', ...way.slice(-2)]).join(' → ')
}

const utf8 = new TextEncoder()
const utf8Length = (text: string): number => utf8.encode(text).length
