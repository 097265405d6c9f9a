import { nearTerms } from './near-terms.ts'
import { createSynonymTable } from './synonym-table.ts'
import type { Posting, TermIndex } from './term-index.ts'
import type { WeightedTerm } from './terms.ts'

/** One term of the index that speaks for a word of the question. */
export interface Voice {
  posting: Posting
  weight: number
}

/** Everything that speaks for one word. Of several voices for the same document only the loudest is heard. */
export interface Concept {
  voices: readonly Voice[]
  /** What the word itself, and not just another for it, would count at most. */
  worth: number
  /** The word is nowhere; the voices are of others that look like it. */
  isGuess: boolean
}

/** Finds what the index has for the words of a question; nothing when nearly all of it would be guessed. */
export type ConceptFinder = (terms: readonly WeightedTerm[], documents: number) => Map<string, Concept>

/** Rare terms say even more than BM25 thinks: tools are described in the same few common words. */
const RARITY_POWER = 1.25
/** Another word for it is not the word. */
const SYNONYM_WEIGHT = 0.4
const NEAR_WEIGHT = 0.5
/** A question full of names and values is not worth looking around for each of them. */
const MAX_NEAR_LOOKUPS = 8
/** With fewer of its words than this, a question that has only guesses is not misspelt but about something else. */
const GUESSED_PART = 0.5

export function createConceptFinder(index: TermIndex): ConceptFinder {
  const synonyms = createSynonymTable()
  return (terms, documents) => {
    const asked = new Set(terms.map(({ term }) => term))
    let lookups = MAX_NEAR_LOOKUPS
    const voices = (others: Iterable<string>, weight: number): Voice[] =>
      [...others].flatMap(term => {
        const posting = index.posting(term)
        return posting ? [{ posting, weight: weight * rarity(posting, documents) }] : []
      })
    const conceptOf = ({ term, word, weight }: WeightedTerm): Concept => {
      const itself = voices([term], weight)
      const others = (synonyms.get(term) ?? []).filter(other => !asked.has(other))
      // However rare another word is: whoever says this one means this one.
      const most = itself.length > 0 ? loudest(itself) : Number.POSITIVE_INFINITY
      const other = voices(others, weight * SYNONYM_WEIGHT).map(voice => capped(voice, most))
      const found = [...itself, ...other]
      if (itself.length > 0) return { voices: found, worth: loudest(found), isGuess: false }
      if (found.length > 0) return { voices: found, worth: loudest(found) / SYNONYM_WEIGHT, isGuess: false }
      const near = isWord(word) && lookups-- > 0 ? nearTerms(term, index.alike(term)) : []
      const guessed = voices(near, weight * NEAR_WEIGHT)
      return { voices: guessed, worth: loudest(guessed) / NEAR_WEIGHT, isGuess: true }
    }
    const concepts = new Map(terms.map(term => [term.term, conceptOf(term)]))
    return isAboutSomethingElse([...concepts.values()]) ? new Map() : concepts
  }
}

const capped = ({ posting, weight }: Voice, most: number): Voice => ({ posting, weight: Math.min(weight, most) })

const loudest = (voices: readonly Voice[]) => voices.reduce((most, { weight }) => Math.max(most, weight), 0)

function isAboutSomethingElse(concepts: readonly Concept[]): boolean {
  const guessed = concepts.filter(({ voices }) => voices.length > 0).length
  return concepts.every(({ isGuess }) => isGuess) && guessed < GUESSED_PART * concepts.length
}

/** BM25's inverse document frequency, sharpened. */
function rarity({ slots }: Posting, documents: number): number {
  return Math.log(1 + (documents - slots.length + 0.5) / (slots.length + 0.5)) ** RARITY_POWER
}

/** Codes and numbers are never almost right. */
const isWord = (word: string) => /^\p{L}+$/u.test(word)
