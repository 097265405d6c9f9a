import { type Clock } from '../kernel/index.ts'
import { charactersOf, createSynonymTable, createTermReader } from '../search/index.ts'
import { type WordLimit, type WordScope, type WordSearch } from '../store/index.ts'

/** A word of a question, or another for it, and how much it counts there. */
export interface AskedWord {
  readonly word: string
  readonly weight: number
  /** Which word of the question is meant. Of several that mean the same only the one that says most is heard. */
  readonly meaning: number
}

/** Turns memories and questions into words that meet. */
export interface MemoryWords {
  /** All words of a memory, with a space between, and a mark at the end of one that asks. */
  of(content: string): string
  /** The words of a question, each once; those that say nothing only when there are no others. */
  asked(query: string): readonly AskedWord[]
}

/** More than a memory of the largest size has in any language. */
const MOST_WORDS = 40_000
/** A longer question is a pasted text, and its beginning says what it is about. */
export const MOST_ASKED = 24
/** Another word for it is not the word. */
const SYNONYM_WEIGHT = 0.4
/** Stands among the words of what ends in a question. No question has it as a word. */
const MARK = '?'
/** As languages write it; a closing quote or bracket may follow. */
const ENDS_ASKING = /[?？؟⁇⁈][\s"'”’»)\]]*$/u

export function createMemoryWords(): MemoryWords {
  const reader = createTermReader()
  const synonyms = createSynonymTable()

  function askedThemselves(query: string): readonly AskedWord[] {
    const telling = reader.weigh(query, MOST_ASKED * 4)
    const asked =
      telling.length > 0
        ? telling.map(({ term, weight }) => ({ word: term, weight }))
        : [...new Set(reader.readAll(query, MOST_ASKED))].map(word => ({ word, weight: 1 }))
    return asked.slice(0, MOST_ASKED).map((one, meaning) => ({ ...one, meaning }))
  }

  return {
    of(content) {
      const words = [...reader.readAll(content, MOST_WORDS), ...charactersOf(content)]
      return (ENDS_ASKING.test(content) ? [...words, MARK] : words).join(' ')
    },
    asked(query) {
      const asked = askedThemselves(query)
      const known = new Set(asked.map(({ word }) => word))
      const others = asked.flatMap(({ word, weight, meaning }) =>
        (synonyms.get(word) ?? [])
          .filter(other => !known.has(other))
          .map(other => ({ word: other, weight: weight * SYNONYM_WEIGHT, meaning })),
      )
      return [...asked, ...others].slice(0, MOST_ASKED)
    },
  }
}

/** Whether a memory with these words asks something. */
export function isAsking(words: string): boolean {
  return words.endsWith(MARK)
}

/** About how many memories in these scopes have a word. Approximate: it only decides how rare the word is. */
interface WordFrequencies {
  of(word: string, scope: Omit<WordScope, 'above'>): Promise<number>
  /** Whether many had it when it was counted last, so that to count it once more costs little. */
  isRemembered(word: string, scope: Omit<WordScope, 'above'>): boolean
}

/** A word that more have says nothing worth counting on. */
const MOST_COUNTED = 10_000
/** Words that fewer have are read faster than it is worth to remember them; those that many have are few. */
const MANY = 200
/** What was forgotten since is counted until then. */
const GOOD_FOR_MS = 10 * 60_000
const MOST_REMEMBERED = 10_000

/**
 * Counting a common word takes as long as the rest of a recall, and every other question has one. So these counts are cached per
 * set of scopes, and only newer memories are counted.
 */
export function createWordFrequencies(search: Pick<WordSearch, 'count'>, clock: Clock): WordFrequencies {
  const known = new Map<string, KnownCount>()

  function remember(key: string, count: KnownCount): void {
    if (known.size >= MOST_REMEMBERED && !known.has(key)) known.clear()
    known.set(key, count)
  }

  function lastOf(word: string, { scopes, upTo }: WordScope): KnownCount | undefined {
    const last = known.get(keyOf(word, scopes))
    return last !== undefined && last.upTo <= upTo && clock.now() - last.countedAt < GOOD_FOR_MS ? last : undefined
  }

  return {
    isRemembered: (word, scope) => lastOf(word, scope) !== undefined,
    async of(word, scope) {
      const base = lastOf(word, scope) ?? { upTo: 0, having: 0, countedAt: clock.now() }
      const most = MOST_COUNTED - base.having
      if (most <= 0 || base.upTo === scope.upTo) return base.having
      const above = base.upTo === 0 ? {} : { above: base.upTo }
      const having = base.having + (await search.count(word, { ...scope, ...above, most }))
      if (having >= MANY) remember(keyOf(word, scope.scopes), { ...base, upTo: scope.upTo, having })
      return having
    },
  }
}

const keyOf = (word: string, scopes: readonly string[]) => `${scopes.join(' ')} ${word}`

interface KnownCount {
  /** Up to this slot. */
  readonly upTo: number
  readonly having: number
  /** When all were counted. */
  readonly countedAt: number
}

/** Where a word of a question stands. */
export interface WordPlaces {
  /** How many memories have it. */
  readonly having: number
  /** The newest of them, by their slots: all of them where it is rare. */
  readonly slots: readonly number[]
}

/** Finds where words stand. How many have each is told where it was found out before. */
type WordPlacesFinder = (
  words: readonly string[],
  scope: WordScope,
  counts?: readonly number[],
) => Promise<readonly WordPlaces[]>

/** Rows scored for a question, all words together: all rows of rare words, then the newest of the others. */
export const MOST_LOOKS = 6_000
/** Rows read first of a word whose count is unknown. */
const FIRST_LOOK = MOST_LOOKS / MOST_ASKED

/**
 * Most words of a question are rare: reading their places also counts them. The counts of the others are mostly cached.
 */
export function createWordPlaces(search: WordSearch, clock: Clock): WordPlacesFinder {
  const counts = createWordFrequencies(search, clock)

  /** How many have each word, as far as that need not be counted now. */
  function remembered(words: readonly string[], scope: WordScope): Promise<KnownCounts> {
    return Promise.all(words.map(word => (counts.isRemembered(word, scope) ? counts.of(word, scope) : undefined)))
  }

  async function lookAt(wanted: readonly WordLimit[], scope: WordScope): Promise<readonly Look[]> {
    const lists = await search.newest(wanted, scope)
    return wanted.map((one, i) => ({ ...one, slots: lists[i] ?? [] }))
  }

  /** As if only the counted words existed: then rows are only left out later, and none is read twice. */
  function firstLook(words: readonly string[], scope: WordScope, known: KnownCounts): Promise<readonly Look[]> {
    const most = shared(known.map(having => having ?? 0))
    const wanted = words.map((word, i) => ({ word, most: known[i] === undefined ? FIRST_LOOK : (most[i] ?? 0) }))
    return lookAt(wanted, scope)
  }

  /** How many have a word of which nothing was known. */
  async function countedBy({ word, slots }: Look, scope: WordScope): Promise<number> {
    return slots.length < MANY ? slots.length : counts.of(word, scope)
  }

  /** Where each word stands, as far as it may be looked at: of those that were cut short the rest is read. */
  async function readOn(looks: readonly Look[], scope: WordScope, most: readonly number[]): Promise<readonly Look[]> {
    const longer = looks.map(({ word }, i) => ({ word, most: most[i] ?? 0 }))
    const cut = longer.filter((wanted, i) => isCut(looks[i], wanted))
    const read = new Map(cut.length === 0 ? [] : (await lookAt(cut, scope)).map(look => [look.word, look]))
    return looks.map(look => read.get(look.word) ?? look)
  }

  return async (words, scope, told) => {
    const known = told ?? (await remembered(words, scope))
    const looks = await firstLook(words, scope, known)
    const having = await Promise.all(looks.map((look, i) => known[i] ?? countedBy(look, scope)))
    const most = shared(having)
    const read = await readOn(looks, scope, most)
    return read.map(({ slots }, i) => ({ having: having[i] ?? 0, slots: slots.slice(0, most[i]) }))
  }
}

/** How many have each word; of those that are absent it is not known. */
type KnownCounts = readonly (number | undefined)[]

/** What was read of a word. */
interface Look extends WordLimit {
  readonly slots: readonly number[]
}

function isCut(look: Look | undefined, { most }: WordLimit): boolean {
  return look !== undefined && look.slots.length === look.most && most > look.slots.length
}

/** How many of each may be looked at: the rarest first, each with as many as are left. */
function shared(counts: readonly number[]): readonly number[] {
  let left = MOST_LOOKS
  const wanted = counts.map(() => 0)
  for (const i of counts.map((_, at) => at).toSorted((a, b) => (counts[a] ?? 0) - (counts[b] ?? 0))) {
    wanted[i] = Math.min(counts[i] ?? 0, left)
    left -= wanted[i] ?? 0
  }
  return wanted
}
