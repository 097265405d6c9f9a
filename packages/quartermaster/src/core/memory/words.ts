import { type Clock } from '../kernel/index.ts'
import { charactersOf, createSynonymTable, createTermReader } from '../search/index.ts'
import { type WordLimit, type WordScope, type WordSearch } from '../store/index.ts'

/** A word of a query or a synonym of one, and its weight. */
export interface QueryWord {
  readonly word: string
  readonly weight: number
  /** The index of the query word that it stands for. Of several with the same meaning, only the highest score counts. */
  readonly meaning: number
}

/** Turns memories and queries into comparable words. */
export interface MemoryWords {
  /** All words of a memory, separated by spaces, with a mark at the end of a question. */
  of(content: string): string
  /** The words of a query with synonyms, each once; stop words only when there are no others. */
  ofQuery(query: string): readonly QueryWord[]
}

/** More words than the largest memory has. */
const MOST_WORDS = 40_000
/** A longer query is a pasted text; its beginning is enough. */
export const MOST_QUERY_WORDS = 24
const SYNONYM_WEIGHT = 0.4
/** Added to the words of a memory that is a question. No query has it as a word. */
const MARK = '?'
/** Question marks of several scripts; a closing quote or bracket may follow. */
const IS_QUESTION = /[?？؟⁇⁈][\s"'”’»)\]]*$/u

export function createMemoryWords(): MemoryWords {
  const reader = createTermReader()
  const synonyms = createSynonymTable()

  function ownWords(query: string): readonly QueryWord[] {
    const telling = reader.weigh(query, MOST_QUERY_WORDS * 4)
    const asked =
      telling.length > 0
        ? telling.map(({ term, weight }) => ({ word: term, weight }))
        : [...new Set(reader.readAll(query, MOST_QUERY_WORDS))].map(word => ({ word, weight: 1 }))
    return asked.slice(0, MOST_QUERY_WORDS).map((one, meaning) => ({ ...one, meaning }))
  }

  return {
    of(content) {
      const words = [...reader.readAll(content, MOST_WORDS), ...charactersOf(content)]
      return (IS_QUESTION.test(content) ? [...words, MARK] : words).join(' ')
    },
    ofQuery(query) {
      const asked = ownWords(query)
      const known = new Set(asked.map(({ word }) => word))
      const others = asked.flatMap(({ word, weight, meaning }) =>
        (synonyms.get(word) ?? [])
          .filter(other => !known.has(other))
          .map(other => ({ word: other, weight: weight * SYNONYM_WEIGHT, meaning })),
      )
      return [...asked, ...others].slice(0, MOST_QUERY_WORDS)
    },
  }
}

/** Whether a memory with these words is a question. */
export function isQuestion(words: string): boolean {
  return words.endsWith(MARK)
}

/** The number of memories with a word in these scopes. Approximate: it only decides how rare the word is. */
interface WordFrequencies {
  of(word: string, scope: Omit<WordScope, 'above'>): Promise<number>
  /** Whether a count is cached, so that counting again costs little. */
  isCached(word: string, scope: Omit<WordScope, 'above'>): boolean
}

/** Words that more memories have are equally unspecific. */
const MOST_COUNTED = 10_000
/** Counts below this are not cached: reading them again is fast, and frequent words are few. */
const MANY = 200
/** Memories that were forgotten since still count until then. */
const GOOD_FOR_MS = 10 * 60_000
const MOST_CACHED = 10_000

/** Counting a common word takes as long as the rest of a recall, so counts are cached per set of scopes, and only newer memories counted. */
export function createWordFrequencies(search: Pick<WordSearch, 'count'>, clock: Clock): WordFrequencies {
  const known = new Map<string, KnownCount>()

  function cache(key: string, count: KnownCount): void {
    if (known.size >= MOST_CACHED && !known.has(key)) known.clear()
    known.set(key, count)
  }

  function lastOf(word: string, { scopes, upTo }: WordScope): KnownCount | undefined {
    const last = known.get(keyOf(word, scopes))
    return last !== undefined && last.upTo <= upTo && clock.now() - last.countedAt < GOOD_FOR_MS ? last : undefined
  }

  return {
    isCached: (word, scope) => lastOf(word, scope) !== undefined,
    async of(word, scope) {
      const base = lastOf(word, scope) ?? { upTo: 0, having: 0, countedAt: clock.now() }
      const most = MOST_COUNTED - base.having
      if (most <= 0 || base.upTo === scope.upTo) return base.having
      const above = base.upTo === 0 ? {} : { above: base.upTo }
      const having = base.having + (await search.count(word, { ...scope, ...above, most }))
      if (having >= MANY) cache(keyOf(word, scope.scopes), { ...base, upTo: scope.upTo, having })
      return having
    },
  }
}

const keyOf = (word: string, scopes: readonly string[]) => `${scopes.join(' ')} ${word}`

interface KnownCount {
  /** Up to this slot. */
  readonly upTo: number
  readonly having: number
  /** The time of the first count. */
  readonly countedAt: number
}

/** The memories with a word of a query. */
export interface WordPlaces {
  readonly having: number
  /** The slots of the newest of them: of all where the word is rare. */
  readonly slots: readonly number[]
}

/** Finds the memories with each word. `counts` are given where they are known. */
type WordPlacesFinder = (
  words: readonly string[],
  scope: WordScope,
  counts?: readonly number[],
) => Promise<readonly WordPlaces[]>

/** Rows scored for a query, all words together: all rows of rare words, then the newest of the others. */
export const MOST_ROWS = 6_000
/** Rows read first of a word whose count is unknown. */
const FIRST_ROWS = MOST_ROWS / MOST_QUERY_WORDS

/** Most words of a query are rare: reading their rows also counts them. The counts of the others are mostly cached. */
export function createWordPlaces(search: WordSearch, clock: Clock): WordPlacesFinder {
  const counts = createWordFrequencies(search, clock)

  /** The cached counts. */
  function cachedCounts(words: readonly string[], scope: WordScope): Promise<KnownCounts> {
    return Promise.all(words.map(word => (counts.isCached(word, scope) ? counts.of(word, scope) : undefined)))
  }

  async function readRows(wanted: readonly WordLimit[], scope: WordScope): Promise<readonly WordRows[]> {
    const lists = await search.newest(wanted, scope)
    return wanted.map((one, i) => ({ ...one, slots: lists[i] ?? [] }))
  }

  /** The first read, as if only the counted words existed: so no row is read twice. */
  function readFirst(words: readonly string[], scope: WordScope, known: KnownCounts): Promise<readonly WordRows[]> {
    const most = shareRows(known.map(having => having ?? 0))
    const wanted = words.map((word, i) => ({ word, most: known[i] === undefined ? FIRST_ROWS : (most[i] ?? 0) }))
    return readRows(wanted, scope)
  }

  async function countOf({ word, slots }: WordRows, scope: WordScope): Promise<number> {
    return slots.length < MANY ? slots.length : counts.of(word, scope)
  }

  /** Reads the rest of the words whose first read was too short. */
  async function readRest(
    rows: readonly WordRows[],
    scope: WordScope,
    most: readonly number[],
  ): Promise<readonly WordRows[]> {
    const longer = rows.map(({ word }, i) => ({ word, most: most[i] ?? 0 }))
    const cut = longer.filter((wanted, i) => isCut(rows[i], wanted))
    const read = new Map(cut.length === 0 ? [] : (await readRows(cut, scope)).map(row => [row.word, row]))
    return rows.map(row => read.get(row.word) ?? row)
  }

  return async (words, scope, given) => {
    const known = given ?? (await cachedCounts(words, scope))
    const rows = await readFirst(words, scope, known)
    const having = await Promise.all(rows.map((row, i) => known[i] ?? countOf(row, scope)))
    const most = shareRows(having)
    const read = await readRest(rows, scope, most)
    return read.map(({ slots }, i) => ({ having: having[i] ?? 0, slots: slots.slice(0, most[i]) }))
  }
}

/** By word; absent where unknown. */
type KnownCounts = readonly (number | undefined)[]

interface WordRows extends WordLimit {
  readonly slots: readonly number[]
}

function isCut(row: WordRows | undefined, { most }: WordLimit): boolean {
  return row !== undefined && row.slots.length === row.most && most > row.slots.length
}

/** How many rows of each word to read: the rarest first, each as many as are left. */
function shareRows(counts: readonly number[]): readonly number[] {
  let left = MOST_ROWS
  const wanted = counts.map(() => 0)
  for (const i of counts.map((_, at) => at).toSorted((a, b) => (counts[a] ?? 0) - (counts[b] ?? 0))) {
    wanted[i] = Math.min(counts[i] ?? 0, left)
    left -= wanted[i] ?? 0
  }
  return wanted
}
