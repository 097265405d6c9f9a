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

/** Whether a sentence is worded like the description of a tool, and more so than this, wherever one looks. */
export function isPlainer(sentence: string, than: number): boolean {
  const words = wordingWords(sentence)
  if (words.length < FEWEST_WORDS) return false
  for (let at = 0; at === 0 || at + WINDOW <= words.length; at++)
    if (wordingScore(words.slice(at, at + WINDOW)) >= than) return false
  return true
}
