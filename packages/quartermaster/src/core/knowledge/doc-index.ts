import { type JsonSchema } from '../../contracts/index.ts'
import { type Generation, isDeprecated, type Knowledge, type Tool } from '../catalogue/index.ts'
import { type Clock, inTurns, type Steps } from '../kernel/index.ts'
import { createSearchIndex, type SearchDocument, type SearchIndex } from '../search/index.ts'
import { type Entry } from './entry.ts'
import { headingsOf } from './includes.ts'
import { libraryOf } from './library.ts'

/** An entry as a document of the search index. */
export function searchDocument(entry: Entry): SearchDocument {
  const { of } = entry
  if ('tool' in of) return { ...toolDocument(of.tool), id: entry.path }
  if ('unit' in of) return { ...unitDocument(of.unit), id: entry.path }
  if ('withheld' in of) return { id: entry.path, name: of.withheld.name, title: entry.title, text: '' }
  const { key, title, short } = of.capability
  return { id: entry.path, name: key, title, text: short, tags: ['capability'] }
}

function toolDocument(tool: Tool): Omit<SearchDocument, 'id'> {
  const { name, title, short, whenToUse, section, capability } = tool
  return {
    name,
    title,
    text: short,
    details: whenToUse,
    group: `${section} ${capability}`,
    parameters: parametersOf(tool.inputSchema),
    examples: tool.examples.map(({ query }) => query),
    tags: tool.search ?? [],
    isDeprecated: isDeprecated(tool),
    ...(tool.body === undefined ? {} : { body: tool.body }),
  }
}

// Aliases count as much as examples: both are the words that people use.
function unitDocument(unit: Knowledge): Omit<SearchDocument, 'id'> {
  const { path, title, kind, summary = '', whenToUse = '', body, tags, aliases, tools, command } = unit
  return {
    name: path,
    title,
    text: summary,
    details: [whenToUse, ...headingsOf(body)].join('\n'),
    body,
    examples: [...aliases, ...(command === undefined ? [] : [command])],
    tags,
    // A reader who sees directions has their tools; units of other kinds may name tools that the reader does not have.
    group: [kind, ...(kind === 'directions' ? tools : [])].join(' '),
  }
}

function parametersOf({ properties }: JsonSchema): string[] {
  const entries = Object.entries((properties ?? {}) as Record<string, JsonSchema | boolean>)
  return entries.map(([name, schema]) => `${name} ${descriptionOf(schema)}`)
}

function descriptionOf(schema: JsonSchema | boolean): string {
  return typeof schema === 'object' && typeof schema?.description === 'string' ? schema.description : ''
}

/** A search index over all entries, by path. It is updated when a search needs it. */
export interface DocIndex {
  /** The index, updated to this generation or a later one. */
  upTo(generation: Generation): Promise<SearchIndex<string>>
}

export function createDocIndex(clock: Pick<Clock, 'now' | 'breathe'>): DocIndex {
  const index = createSearchIndex<string>()
  const indexed = new Map<string, string>()
  let known = 0
  let updating = Promise.resolve()

  function* update(generation: Generation): Steps<void> {
    if (generation.number <= known) return
    const { entries } = libraryOf(generation)
    for (const entry of entries.values()) {
      if (indexed.get(entry.path) === entry.hash) continue
      index.add(documentOf(entry), entry.path)
      indexed.set(entry.path, entry.hash)
      yield
    }
    for (const path of indexed.keys()) {
      if (!entries.has(path) && indexed.delete(path)) index.remove(path)
    }
    known = generation.number
  }

  return {
    async upTo(generation) {
      if (generation.number > known) {
        // One update at a time: concurrent searches wait for it. It yields, as there may be ten thousand entries.
        const work = updating.then(() => inTurns(update(generation), clock))
        // The error goes to the callers of this update; the next one starts again.
        updating = work.catch(() => {})
        await work
      }
      return index
    },
  }
}

/** An entry with broken fields is indexed by name, so that it does not break the search for the others. */
function documentOf(entry: Entry): SearchDocument {
  try {
    return searchDocument(entry)
  } catch {
    const name = 'tool' in entry.of ? entry.of.tool.name : entry.path
    return { id: entry.path, name, title: entry.title, text: entry.summary }
  }
}
