import { stem } from './stem.ts'
import { CHATTER, IRREGULAR, PRAISE, STOP_WORDS, wordsOf } from './words.ts'

/** A term of a query and its weight. */
export interface WeightedTerm {
  term: string
  /** The word it came from, for finding similar terms when the term is unknown. */
  word: string
  weight: number
}

/** Turns texts into terms: the stems of their words. */
export interface TermReader {
  /** The terms of the first `limit` words, in order, with repetitions and without stop words. */
  read(text: string, limit: number): string[]
  /** The same with stop words. */
  readAll(text: string, limit: number): string[]
  /** The terms of a query, each once. */
  weigh(text: string, limit: number): WeightedTerm[]
}

/** Stemming is the most expensive step, and words repeat. */
const CACHED_WORDS = 50_000
/** A text is first cut to this many characters per word, so that its size does not matter. */
export const CHARACTERS_OF_A_WORD = 20
/** Longer words are pasted data. */
const LONGEST_WORD = 64
/** Numbers are mostly values, not needs. */
const NUMBER_WEIGHT = 0.5
const CHATTER_WEIGHT = 0.4

export function createTermReader(): TermReader {
  const cache = new Map<string, string>()
  const termOf = (word: string) => {
    const known = cache.get(word)
    if (known !== undefined) return known
    if (cache.size >= CACHED_WORDS) cache.clear()
    const term = toTerm(word)
    cache.set(word, term)
    return term
  }
  const first = (text: string, limit: number) => wordsOf(text.slice(0, limit * CHARACTERS_OF_A_WORD)).slice(0, limit)
  const searchable = (text: string, limit: number) => first(text, limit).filter(isSearchable)
  return {
    read: (text, limit) => searchable(text, limit).map(termOf),
    readAll: (text, limit) => first(text, limit).filter(isShort).map(termOf),
    weigh(text, limit) {
      const terms = new Map<string, WeightedTerm>()
      for (const word of searchable(text, limit)) {
        const term = termOf(word)
        const weight = Math.max(weightOf(word), terms.get(term)?.weight ?? 0)
        terms.set(term, { term, word, weight })
      }
      return [...terms.values()]
    },
  }
}

/** The term of one word. */
export function toTerm(word: string): string {
  const stemmed = stem(IRREGULAR.get(word) ?? word)
  // Otherwise "classify" and "classification", "history" and "historical", "delivery" and "deliver" stay apart.
  return stemmed.length >= SHORTEST_WITH_I && stemmed.endsWith('i') && !KEPT.has(stemmed)
    ? stemmed.slice(0, -1)
    : stemmed
}

const SHORTEST_WITH_I = 6
/** "policy" is not "police", "directory" is not "director". */
const KEPT = new Set(['polici', 'directori'])

const isShort = (word: string) => word.length <= LONGEST_WORD
const isSearchable = (word: string) => isShort(word) && !STOP_WORDS.has(word) && !PRAISE.has(word)

function weightOf(word: string): number {
  if (/^\p{N}/u.test(word)) return NUMBER_WEIGHT
  return CHATTER.has(word) ? CHATTER_WEIGHT : 1
}

/** The document slots with a term, and its weight in each. */
export interface Posting {
  readonly slots: number[]
  readonly impacts: number[]
}

export interface TermIndex {
  add(slot: number, impacts: ReadonlyMap<string, number>): void
  remove(slot: number, terms: Iterable<string>): void
  posting(term: string): Posting | undefined
  /** All terms with the same first letter, which is hardly ever mistyped. */
  alike(term: string): string[]
}

export function createTermIndex(): TermIndex {
  const postings = new Map<string, Posting>()
  const byFirstLetter = new Map<string, Set<string>>()

  const create = (term: string): Posting => {
    const posting: Posting = { slots: [], impacts: [] }
    postings.set(term, posting)
    const alike = byFirstLetter.get(term.charAt(0)) ?? new Set()
    byFirstLetter.set(term.charAt(0), alike.add(term))
    return posting
  }
  const drop = (term: string) => {
    postings.delete(term)
    byFirstLetter.get(term.charAt(0))?.delete(term)
  }

  return {
    add(slot, impacts) {
      for (const [term, impact] of impacts) {
        const posting = postings.get(term) ?? create(term)
        posting.slots.push(slot)
        posting.impacts.push(impact)
      }
    },
    remove(slot, terms) {
      for (const term of terms) {
        const posting = postings.get(term)
        if (posting && takeOut(posting, slot) === 0) drop(term)
      }
    },
    posting: term => postings.get(term),
    alike: term => [...(byFirstLetter.get(term.charAt(0)) ?? [])],
  }
}

/** Moves the last entry into the free place. Returns how many are left. */
function takeOut({ slots, impacts }: Posting, slot: number): number {
  const at = slots.indexOf(slot)
  const lastSlot = slots.pop()
  const lastImpact = impacts.pop()
  if (at < slots.length && lastSlot !== undefined && lastImpact !== undefined) {
    slots[at] = lastSlot
    impacts[at] = lastImpact
  }
  return slots.length
}

const NEAR_TERMS = 4
const SHORTEST_PREFIX = 3
const SHORTEST_MISTAKE = 5

/** Terms that an unknown one may stand for: longer terms with this beginning, else terms one typing mistake away. */
export function nearTerms(term: string, vocabulary: readonly string[]): string[] {
  const continued = term.length >= SHORTEST_PREFIX ? vocabulary.filter(other => other.startsWith(term)) : []
  if (continued.length > 0) return nearest(continued)
  return term.length >= SHORTEST_MISTAKE ? nearest(vocabulary.filter(other => isOneMistakeAway(term, other))) : []
}

const nearest = (terms: string[]) => terms.sort((a, b) => a.length - b.length || (a < b ? -1 : 1)).slice(0, NEAR_TERMS)

/** One letter more, less or different, or two neighbours swapped. */
function isOneMistakeAway(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  const [restA, restB] = [a.slice(start), b.slice(start)]
  if (restA.length > restB.length) return restA.slice(1) === restB
  if (restA.length < restB.length) return restB.slice(1) === restA
  const isSwap = restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2)
  return isSwap || restA.slice(1) === restB.slice(1)
}
