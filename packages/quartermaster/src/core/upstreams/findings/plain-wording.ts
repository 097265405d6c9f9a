import { wordingWords } from './wording-features.ts'
import { wordingScore } from './wording-score.ts'

/** Of the sentences of ordinary tools 99 in 100 are worded more plainly than this, of those that steer a model one in six. */
export const PLAIN = 0.2
/** Who asks for something says it more plainly than who gives orders: this says one in 25 that steer, and 9 in 10 others. */
export const VERY_PLAIN = -0.7

/** An order and its reason. More is not weighed at once, so that a long plain sentence does not hide them. */
const WORDS_AT_ONCE = 16
/** A plain word between others says little against these. */
const LEAST = -0.5
/** Of fewer words none can say. */
const FEWEST_WORDS = 7

/** How much those words of a sentence that do so most are worded like what steers a model: beyond all where too few can say. */
export function mostSteering(sentence: string): number {
  const words = wordingWords(sentence)
  if (words.length < FEWEST_WORDS) return Number.POSITIVE_INFINITY
  let most = Number.NEGATIVE_INFINITY
  for (let at = 0; at === 0 || at + WORDS_AT_ONCE <= words.length; at++)
    most = Math.max(most, wordingScore(words.slice(at, at + WORDS_AT_ONCE), LEAST))
  return most
}
