import { stem } from './stem.ts'
import { CHATTER, IRREGULAR, PRAISE, STOP_WORDS } from './word-lists.ts'
import { wordsOf } from './words.ts'

/** A term of a question and how much it counts there. */
export interface WeightedTerm {
  term: string
  /** The word it came from, for looking around when the term is nowhere. */
  word: string
  weight: number
}

/** Turns texts into terms: what a word has in common with its other forms. */
export interface TermReader {
  /** The terms of a text in order, with repetitions; at most `limit` words of it are looked at. */
  read(text: string, limit: number): string[]
  /** The same, with the words that say nothing about what is wanted. */
  readAll(text: string, limit: number): string[]
  /** The terms of a question, each once. */
  weigh(text: string, limit: number): WeightedTerm[]
}

/** Stemming costs more than everything else about a word, and the words of tools repeat. */
const CACHED_WORDS = 50_000
/** Generous: a text is cut by characters first, so that its size does not matter. */
export const CHARACTERS_OF_A_WORD = 20
/** What is longer is data that someone pasted. */
const LONGEST_WORD = 64
/** Values rather than needs, most of the time. */
const NUMBER_WEIGHT = 0.5
const CHATTER_WEIGHT = 0.4

/** A reader that remembers the terms of the words it has seen. */
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
  const telling = (text: string, limit: number) => first(text, limit).filter(isTelling)
  return {
    read: (text, limit) => telling(text, limit).map(termOf),
    readAll: (text, limit) => first(text, limit).filter(isShort).map(termOf),
    weigh(text, limit) {
      const terms = new Map<string, WeightedTerm>()
      for (const word of telling(text, limit)) {
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
const isTelling = (word: string) => isShort(word) && !STOP_WORDS.has(word) && !PRAISE.has(word)

function weightOf(word: string): number {
  if (/^\p{N}/u.test(word)) return NUMBER_WEIGHT
  return CHATTER.has(word) ? CHATTER_WEIGHT : 1
}
