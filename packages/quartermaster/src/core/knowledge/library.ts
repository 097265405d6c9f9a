import { type DocState, type ResolutionEntry } from '../../contracts/index.ts'
import { type Generation, type Tool } from '../catalogue/index.ts'
import { type Health, missingInWords } from '../health/index.ts'
import {
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
import { includesIn } from './includes.ts'

/** All entries of a generation, for all readers. */
export interface Library {
  /** By path: units in order of path, capabilities and tools in order of definition, then withheld tools and tools of views. */
  readonly entries: ReadonlyMap<string, Entry>
  /** Finds entries by path, tool or capability; else by file; else units by alias. */
  named(name: string): Entry[]
  /** The entries directly above: the parents that a unit names and the unit of its folder. */
  above(entry: Entry): readonly Entry[]
  below(entry: Entry): readonly Entry[]
  /** The units that name an entry as a tool or under `seeAlso`, or include it. */
  referring(entry: Entry): readonly Entry[]
  /** Whether an entry is a tool that comes with a view. Such tools serve the others, and share their words. */
  isOfView(entry: Entry): boolean
  /** Whether an entry is at this path or below it, by folders or by parents. */
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
  const viewTools = new Set(injections.flatMap(one => one.tools))
  const entries = new Map<string, Entry>()
  const put = (entry: Entry) => entries.set(entry.path, entry)
  for (const unit of units) put(unit)
  for (const capability of capabilities.values()) put(capabilityEntry(capability))
  for (const tool of tools.values()) if (!viewTools.has(tool)) put(toolEntry(tool))
  const putNew = (entry: Entry) => entries.has(entry.path) || put(entry)
  for (const { key, hidden } of capabilities.values()) for (const one of hidden) putNew(withheldEntry(one, key))
  for (const tool of viewTools) putNew(toolEntry(tool))
  const at = (path: string) => entries.get(path) ?? []
  const byFile = new Map(
    units.flatMap(unit => ('unit' in unit.of ? [[barePath(unit.of.unit.unit), unit] as const] : [])),
  )
  const byAlias = grouped(units.flatMap(unit => aliasesOf(unit).map(name => [name, unit] as const)))

  const above = (entry: Entry): readonly Entry[] => {
    const folder = folderUnit(entry.path, entries)
    const parents = entry.parents.flatMap(at)
    return folder === undefined || parents.includes(folder) ? parents : [...parents, folder]
  }
  // Made on demand: pages show these, and most readers only search.
  const children = once(() =>
    grouped([...entries.values()].flatMap(entry => above(entry).map(({ path }) => [path, entry] as const))),
  )
  const references = once(() =>
    grouped(
      units.flatMap(unit =>
        referencesOf(unit)
          .flatMap(at)
          .map(({ path }) => [path, unit] as const),
      ),
    ),
  )

  return {
    entries,
    named(name) {
      const path = barePath(name)
      // A path means the entry at that path rather than one with that alias.
      const byPath = [path, toolPath(path), capabilityPath(path)].flatMap(at)
      if (byPath.length > 0) return byPath
      const file = byFile.get(path)
      return file ? [file] : (byAlias.get(path.trim().toLowerCase()) ?? [])
    },
    above,
    below: ({ path }) => children().get(path) ?? [],
    referring: ({ path }) => [...new Set(references().get(path) ?? [])],
    isOfView: ({ of }) => 'tool' in of && viewTools.has(of.tool),
    isWithin: (entry, scope) => isWithin(entry, barePath(scope), above),
  }
}

/** The aliases of a unit, and the command of directions. */
function aliasesOf({ aliases, command = '' }: Entry): string[] {
  const names = [...aliases, command].map(alias => alias.trim().toLowerCase())
  return [...new Set(names)].filter(name => name !== '')
}

function referencesOf({ tools, seeAlso, of }: Entry): string[] {
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
  // A set that grows during the loop: parents may form a cycle.
  const seen = new Set([entry])
  for (const one of seen) {
    if (one.path === scope || one.path.startsWith(`${scope}/`)) return true
    for (const parent of above(one)) seen.add(parent)
  }
  return false
}

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

type ToolHealth = Pick<Health, 'availability' | 'missing'>

/** Whether a tool works now, and why not. */
export function toolState(tool: Tool, health: ToolHealth): DocState {
  const { active, recovering } = health.availability(tool)
  if (!active) return { state: 'disabled', reason: missingInWords(health.missing(tool)) }
  if (!recovering) return { state: 'active' }
  const reason = missingInWords(health.missing(tool, { withRecovering: true }))
  return { state: 'active', reason: `${reason} A call waits for it.` }
}

/** A capability is active as long as one of its tools works. `withheld` and `unseen` say why other tools are not offered. */
function capabilityState(
  parts: { readonly tools: readonly Tool[]; readonly withheld: readonly string[]; readonly unseen: string | undefined },
  health: ToolHealth,
): DocState {
  const { tools, withheld, unseen } = parts
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
  // Without tools there is nothing that could fail.
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

/** A reader of the docs: what it sees, and in which state tools and capabilities are for it. */
export interface Reader {
  /** Whether this is the project's owner, who may read its configuration. */
  readonly isOwner: boolean
  sees(entry: Entry): boolean
  /** The state of a tool or capability. */
  stateOf(entry: Entry): DocState | undefined
  /** The tools that an entry names or consists of, as far as this reader may know of them. */
  toolsOf(entry: Entry): readonly string[]
}

/** The owner of the project, who sees everything. */
export function ownerReader(health: ToolHealth): Reader {
  return {
    isOwner: true,
    sees: () => true,
    stateOf({ of }) {
      if ('tool' in of) return toolState(of.tool, health)
      if ('withheld' in of) return { state: 'disabled', reason: of.withheld.reason }
      if ('unit' in of) return undefined
      const { tools, hidden, unseen } = of.capability
      return capabilityState({ tools, withheld: hidden.map(({ reason }) => reason), unseen }, health)
    },
    toolsOf: ({ tools }) => tools,
  }
}

/** The grants and health of an agent, as far as reading depends on them. */
export interface Readable extends UnitReader {
  readonly grants: ReadonlyMap<string, { readonly tool: Tool; readonly capability: string }>
  readonly withheld: readonly Pick<ResolutionEntry, 'capability' | 'tool' | 'calledAs' | 'reason'>[]
  /** Whether the agent can call a tool, working or not. */
  isOffered(tool: string): boolean
  readonly health: ToolHealth
}

/** An agent. It sees the tools and capabilities it was granted, withheld or not, and directions whose tools it has. */
export function agentReader({ grants, withheld, health, isOffered, has, isRemote }: Readable): Reader {
  const byCapability = grantedTools(grants)
  // By capability too: another one may have a tool of the same name that the agent was not granted.
  const reasons = new Map(
    withheld.map(({ capability, tool, calledAs = tool, reason = NOT_OFFERED }) => [
      `${capability} ${calledAs}`,
      reason,
    ]),
  )
  const reasonsByCapability = grouped(
    withheld.map(({ capability, reason = NOT_OFFERED }) => [capability, reason] as const),
  )
  const reasonsIn = (key: string) => reasonsByCapability.get(key) ?? []
  const reasonFor = ({ capability, name }: { capability: string; name: string }) => reasons.get(`${capability} ${name}`)
  return {
    isOwner: false,
    sees({ of }) {
      if ('unit' in of) return seesUnit(of.unit, { has, isRemote })
      if ('tool' in of) return isOffered(of.tool.name) || reasonFor(of.tool) !== undefined
      if ('withheld' in of) return reasonFor(of.withheld) !== undefined
      return byCapability.has(of.capability.key) || reasonsIn(of.capability.key).length > 0
    },
    stateOf({ of }) {
      if ('unit' in of) return undefined
      if ('withheld' in of) return { state: 'disabled', reason: reasonFor(of.withheld) ?? of.withheld.reason }
      if ('tool' in of) {
        const reason = isOffered(of.tool.name) ? undefined : reasonFor(of.tool)
        return reason === undefined ? toolState(of.tool, health) : { state: 'disabled', reason }
      }
      const { key, unseen } = of.capability
      return capabilityState({ tools: byCapability.get(key) ?? [], withheld: reasonsIn(key), unseen }, health)
    },
    toolsOf({ of, tools }) {
      if (!('capability' in of)) return tools.filter(has)
      return (byCapability.get(of.capability.key) ?? []).map(({ name }) => name)
    },
  }
}

const NOT_OFFERED = 'It is not offered now.'

// Grants stay the same object until they change, and there may be ten thousand.
const toolsByGrants = new WeakMap<Readable['grants'], ReadonlyMap<string, readonly Tool[]>>()

function grantedTools(grants: Readable['grants']): ReadonlyMap<string, readonly Tool[]> {
  const known = toolsByGrants.get(grants)
  if (known) return known
  const tools = grouped([...grants.values()].map(({ tool, capability }) => [capability, tool] as const))
  toolsByGrants.set(grants, tools)
  return tools
}
