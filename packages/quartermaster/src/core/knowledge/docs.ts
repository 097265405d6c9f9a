import {
  AppError,
  type DocDepth,
  type DocEntry,
  type DocsAnswer,
  type DocsQuestion,
  type JsonSchema,
  type Problem,
} from '../../contracts/index.ts'
import { type Generation, isDeprecated, type Knowledge, type Tool } from '../catalogue/index.ts'
import { type Clock, didYouMean, inTurns, type Steps } from '../kernel/index.ts'
import { createSearchIndex, isWordless, type SearchDocument, type SearchIndex } from '../search/index.ts'
import { type CheckParts, checkLibrary } from './check.ts'
import { type Entry } from './entry.ts'
import { headingsOf } from './includes.ts'
import { type Library, libraryOf, type Reader } from './library.ts'
import { pageOf, pageText } from './page.ts'

/** The docs of a project. All readers share one index; each question filters by its reader. */
export interface Docs {
  /** Rejects with `NAME_UNKNOWN` for a path that leads nowhere. */
  answer(question: DocsQuestion, asking: Pick<ConsultParts, 'generation' | 'reader' | 'isWhole'>): Promise<DocsAnswer>
  readonly index: DocIndex
  /** Finds what is wrong with them. */
  check(generation: Generation, parts: CheckParts): Promise<Problem[]>
}

export function createDocs(clock: Pick<Clock, 'now' | 'breathe'>): Docs {
  const index = createDocIndex(clock)
  return {
    index,
    answer: (question, asking) => consult(question, { ...asking, index, clock }),
    check: (generation, parts) => checkLibrary(generation, { ...parts, clock }),
  }
}

interface ConsultParts {
  readonly generation: Generation
  readonly reader: Reader
  readonly index: DocIndex
  readonly clock: Pick<Clock, 'now' | 'breathe'>
  /** Whether to return much longer texts: for people. A model reads less with care. */
  readonly isWhole?: boolean
}

/** Default lengths of lists and of search results. */
const LISTED = { index: 200, summary: 50, full: 10 } as const satisfies Record<DocDepth, number>
const FOUND = { index: 20, summary: 10, full: 3 } as const satisfies Record<DocDepth, number>
/** The most pages in one answer: every page is built, to know where the next begins. */
export const MOST_PAGES = 50

async function consult(question: DocsQuestion, parts: ConsultParts): Promise<DocsAnswer> {
  const library = libraryOf(parts.generation)
  const consulting = { ...parts, library }
  const depth = question.depth ?? usualDepth(question)
  if (question.offset !== undefined && depth !== 'full')
    throw new AppError('INPUT_INVALID', '"offset" goes on with a text: give it with "path", or with depth "full".')
  const isWanted = wantedBy(question, consulting)
  const { found, ...more } = await pick({ ...question, depth }, consulting, isWanted)
  const entries = found.map(one => toDocEntry(one, depth, parts.reader))
  if (depth !== 'full') return { depth, entries, ...more }
  const pages = found.map(one => () => pageOf(one.entry, { library, reader: parts.reader }))
  return { depth, entries, ...more, ...(await pageText(pages, { ...question, ...parts })) }
}

/** The default depth of an answer. */
export function usualDepth({ path, query }: DocsQuestion): DocDepth {
  if (path !== undefined) return 'full'
  return query === undefined || isWordless(query) ? 'index' : 'summary'
}

interface Consulting extends ConsultParts {
  readonly library: Library
}

interface Found {
  readonly entry: Entry
  readonly score?: number
}

interface Picked {
  readonly found: readonly Found[]
  readonly total?: number
  readonly nextCursor?: string
}

function wantedBy({ scope, kind }: DocsQuestion, { library, reader }: Consulting): (entry: Entry) => boolean {
  const isWanted = (entry: Entry) =>
    (kind ?? entry.kind) === entry.kind && (scope === undefined || library.isWithin(entry, scope)) && reader.sees(entry)
  if (scope === undefined) return isWanted
  const seen = [...library.entries.values()].filter(entry => reader.sees(entry))
  if (seen.some(entry => library.isWithin(entry, scope))) return isWanted
  throw unknownPath(scope, seen)
}

async function pick(
  question: DocsQuestion & { depth: DocDepth },
  consulting: Consulting,
  isWanted: (entry: Entry) => boolean,
): Promise<Picked> {
  const { path, query, depth, limit } = question
  const { library } = consulting
  if (path !== undefined) return { found: named(path, consulting, isWanted) }
  if (query === undefined || isWordless(query)) return list(question, [...library.entries.values()].filter(isWanted))
  const most = mostOf(limit ?? FOUND[depth], depth)
  const exact = library.named(query).filter(isWanted).slice(0, most)
  const known = await consulting.index.upTo(consulting.generation)
  const hits = known.search(query, {
    limit: most,
    filter: one => {
      const entry = library.entries.get(one)
      if (entry === undefined || exact.includes(entry) || !isWanted(entry)) return false
      return consulting.reader.isOwner || !library.isOfView(entry)
    },
  })
  const ranked = hits.flatMap(({ value, score }) => {
    const entry = library.entries.get(value)
    // A score of 1 means that the query named the entry.
    return entry ? [{ entry, score: Math.min(0.999, Math.round(score * 1000) / 1000) }] : []
  })
  return { found: [...exact.map(entry => ({ entry, score: 1 })), ...ranked].slice(0, most) }
}

function named(path: string, { library, reader }: Consulting, isWanted: (entry: Entry) => boolean): Found[] {
  const there = library.named(path).filter(entry => reader.sees(entry))
  const found = there.filter(isWanted)
  if (found.length > 0) return found.map(entry => ({ entry }))
  const [other] = there
  if (other)
    throw new AppError(
      'NAME_UNKNOWN',
      `"${path}" is ${other.path} (${other.kind}), which is not what "kind" and "scope" ask for. Leave them out.`,
    )
  const seen = [...library.entries.values()].filter(entry => reader.sees(entry))
  // A folder without a page of its own is no path, but readers see its name in other paths.
  if (seen.some(entry => library.isWithin(entry, path)))
    throw new AppError('NAME_UNKNOWN', `"${path}" is a folder without a page of its own. Ask with scope "${path}".`)
  throw unknownPath(path, seen)
}

/** The same for an unknown path and for one that only others see. */
function unknownPath(path: string, seen: readonly Entry[]): AppError {
  const names = seen.flatMap(({ path: one, aliases, of }) => [one, ...aliases, ...('tool' in of ? [of.tool.name] : [])])
  const hint = didYouMean(path, names)
  return new AppError(
    'NAME_UNKNOWN',
    `There is nothing to read at "${path}".${hint} Ask with a query, or for the index.`,
  )
}

function list({ depth, limit, cursor }: DocsQuestion & { depth: DocDepth }, all: readonly Entry[]): Picked {
  const most = mostOf(limit ?? LISTED[depth], depth)
  const start = cursor === undefined ? 0 : startAfter(cursor, all)
  const page = all.slice(start, start + most)
  const last = page.at(-1)
  const isMore = last !== undefined && start + most < all.length
  const found = page.map(entry => ({ entry }))
  return { found, total: all.length, ...(isMore ? { nextCursor: last.path } : {}) }
}

function mostOf(wanted: number, depth: DocDepth): number {
  return depth === 'full' ? Math.min(wanted, MOST_PAGES) : wanted
}

function startAfter(cursor: string, all: readonly Entry[]): number {
  const at = all.findIndex(({ path }) => path === cursor)
  if (at >= 0) return at + 1
  throw new AppError('CURSOR_GONE', `This list has no "${cursor}" to go on from. List from the beginning.`)
}

function toDocEntry({ entry, score }: Found, depth: DocDepth, reader: Reader): DocEntry {
  const { path, kind, title, summary, whenToUse, command, tags } = entry
  const tools = reader.toolsOf(entry)
  const facts = { path, kind, title, ...reader.stateOf(entry), ...(score === undefined ? {} : { score }) }
  if (depth === 'index') return facts
  return {
    ...facts,
    ...(summary === '' ? {} : { summary }),
    ...(whenToUse === '' ? {} : { whenToUse }),
    ...(command === undefined ? {} : { command }),
    ...(tools.length === 0 ? {} : { tools: [...tools] }),
    ...(tags.length === 0 ? {} : { tags: [...tags] }),
  }
}

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
interface DocIndex {
  /** The index, updated to this generation or a later one. */
  upTo(generation: Generation): Promise<SearchIndex<string>>
}

function createDocIndex(clock: Pick<Clock, 'now' | 'breathe'>): DocIndex {
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
