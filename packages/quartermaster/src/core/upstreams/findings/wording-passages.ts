import { LONGEST_STRETCH, type Stretch, stretchesOf } from './stretches.ts'
import { wordingWords } from './wording-features.ts'

/** A sentence, a part of one, or two that stand next to each other, as words. */
export interface WordingPassage {
  readonly start: number
  readonly end: number
  readonly words: readonly string[]
}

/** Everything in a text that is looked at as one thought: what steers a model often takes a second sentence. */
export function* wordingPassages(plain: string): Generator<WordingPassage> {
  let before: (Stretch & WordingPassage) | undefined
  for (const stretch of stretchesOf(plain)) {
    const one = { ...stretch, words: wordingWords(stretch.plain) }
    yield one
    if (before && stretch.end - before.start <= LONGEST_STRETCH)
      yield { start: before.start, end: stretch.end, words: [...before.words, BETWEEN, ...one.words] }
    before = one
  }
}

/** The parts of a long one: harmless words in the same sentence must not hide what the others say. About where they stand. */
export function* partsOf({ words, start, end }: WordingPassage): Generator<WordingPassage> {
  if (words.length < LONG) return
  const placeOf = (at: number) => start + Math.round(((end - start) * Math.min(at, words.length)) / words.length)
  for (let at = 0; at + OVERLAP < words.length; at += PART - OVERLAP)
    yield { start: placeOf(at), end: placeOf(at + PART), words: words.slice(at, at + PART) }
}

/** Stands between two sentences, so that the end of one and the beginning of the next are no pair of words. */
const BETWEEN = '.'

/** So many words are an order with all that belongs to it. */
const PART = 16
const OVERLAP = 10
/** One that is not much longer than a part is looked at as a whole. */
const LONG = 20
