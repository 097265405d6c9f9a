import { type JsonSchema } from '../../contracts/index.ts'
import { type Generation, isDeprecated, type Knowledge, type Tool } from '../catalogue/index.ts'
import { type Clock, inTurns, type Steps } from '../kernel/index.ts'
import { createSearchIndex, type SearchDocument, type SearchIndex } from '../search/index.ts'
import { type Entry } from './entry.ts'
import { libraryOf } from './library.ts'
import { headingsOf } from './markdown.ts'

/** What can be searched of an entry: everything it says about itself in words. */
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

/** Its other names count as much as what people ask: they are what people call it. */
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
    // A reader who sees directions has their tools. Units of other kinds may mention tools that the reader does not have.
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

/** A search index over all tools, capabilities and units, by path. Updated only when a search needs it. */
export interface DocIndex {
  /** The index, once it knows this generation or a later one. */
  upTo(generation: Generation): Promise<SearchIndex<string>>
}

/** An empty index. Reading ten thousand entries takes long, so the update yields to other work. */
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
        // One update after the other: searches that come meanwhile wait for the same one.
        const work = updating.then(() => inTurns(update(generation), clock))
        // The callers of this update get its error; the next update starts again.
        updating = work.catch(() => {})
        await work
      }
      return index
    },
  }
}

/** An entry that cannot be read is found by its name, so that it does not break the search for the others. */
function documentOf(entry: Entry): SearchDocument {
  try {
    return searchDocument(entry)
  } catch {
    const name = 'tool' in entry.of ? entry.of.tool.name : entry.path
    return { id: entry.path, name, title: entry.title, text: entry.summary }
  }
}
