import { wordingWords } from './wording-features.ts'
import { wordingScore } from './wording-score.ts'

/** Of the sentences of ordinary tools 99 in 100 have less than this, of those that steer a model one in six. */
export const LEAST_STEERING = 0.2
/** Who asks for something says it more plainly than who gives orders: one in 25 that steer have less than this, and 9 in 10 others. */
export const LEAST_IN_REQUESTS = -0.7

/** An order and its reason. More is not weighed at once, so that a long plain sentence does not hide them. */
const WORDS_AT_ONCE = 16
/** A plain word between others says little against these. */
const LEAST = -0.5
/** Of fewer words none can say. */
const FEWEST_WORDS = 7

/** How much those words of a sentence that do so most are worded like what steers a model. Nothing where too few can say. */
export function mostSteering(sentence: string): number | undefined {
  const words = wordingWords(sentence)
  if (words.length < FEWEST_WORDS) return undefined
  let most = Number.NEGATIVE_INFINITY
  for (let at = 0; at === 0 || at + WORDS_AT_ONCE <= words.length; at++)
    most = Math.max(most, wordingScore(words.slice(at, at + WORDS_AT_ONCE), LEAST))
  return most
}

/** Whether that is worded like a description. Where nobody can say, whatever the words say counts. */
export function isPlain(steering: number | undefined, least: number): boolean {
  return steering !== undefined && steering < least
}
