import { wordingWords } from './wording-features.ts'
import { wordingScore } from './wording-score.ts'

/** Nine in ten sentences of ordinary tools are worded more plainly than this, and next to none that steers a model. */
export const PLAIN = -0.35
/** Who asks for something says it more plainly than who gives orders. */
export const VERY_PLAIN = -1.6

/** An order and its reason. More than that is not weighed at once, so that plain words in the same sentence hide no others. */
const WINDOW = 12
/** Of fewer words none can say. */
const FEWEST_WORDS = 7

/** How much those words of a sentence that do so most are worded like what steers a model: beyond all where too few can say. */
export function mostSteering(sentence: string): number {
  const words = wordingWords(sentence)
  if (words.length < FEWEST_WORDS) return Number.POSITIVE_INFINITY
  let most = Number.NEGATIVE_INFINITY
  for (let at = 0; at === 0 || at + WINDOW <= words.length; at++)
    most = Math.max(most, wordingScore(words.slice(at, at + WINDOW)))
  return most
}
