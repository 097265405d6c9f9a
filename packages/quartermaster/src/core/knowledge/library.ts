import type { Generation } from '../catalogue/index.ts'
import { capabilityEntry, capabilityPath, type Entry, toolEntry, toolPath, unitEntry, withheldEntry } from './entry.ts'
import { addTo, grouped } from './grouped.ts'
import { includesIn } from './includes.ts'
import { barePath } from './written-path.ts'

/** All there is to read about in a generation, whoever may see it. */
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

/** The library of a generation, made when somebody first asks. */
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
      // Whoever writes a path means what is there, and not what somebody else also calls it.
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
  // Parents may lead in a circle; nobody is looked at twice.
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
