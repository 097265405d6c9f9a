import { LONGEST_STRETCH, type Stretch, stretchesOf } from './stretches.ts'
import { wordingWords } from './wording-features.ts'

/** A sentence, or two that stand next to each other, as words. */
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

/** Stands between two sentences, so that the end of one and the beginning of the next are no pair of words. */
const BETWEEN = '.'
