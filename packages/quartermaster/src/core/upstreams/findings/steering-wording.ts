import { excerptOf } from '../visible-text.ts'
import type { Draft } from './draft.ts'
import { originalOf } from './plain-text.ts'
import { partsOf, type WordingPassage, wordingPassages } from './wording-passages.ts'
import { wordingScore } from './wording-score.ts'

/** Of ordinary tools one in a thousand has such a sentence, and of attacks that no rule was written for half. */
const STEERING = 0.9
/** What the rest of a sentence makes of a part is not weighed with it, so it takes more, and is never held back for that. */
const STEERING_PART = 2.2
/** Of ordinary tools next to none has, and of attacks one in four. */
const SURELY_STEERING = 2.3

export const WORDED = 'It reads like something that steers the model, and not like a description of the tool.'

const FOUND = { rule: 'instruction', family: 'hint', message: WORDED } as const

/** The sentence of a text that is most like what steers a model, if any is like that at all. Every look is a step. */
export function* steeringIn(text: string, plain: string): Generator<undefined, Draft | undefined> {
  let most: (WordingPassage & { readonly score: number }) | undefined
  let isSure = false
  for (const passage of wordingPassages(plain)) {
    const score = wordingScore(passage.words)
    isSure ||= score > SURELY_STEERING
    if (score > (most?.score ?? STEERING)) most = { ...passage, score }
    for (const part of partsOf(passage)) {
      const its = wordingScore(part.words)
      if (its > Math.max(most?.score ?? 0, STEERING_PART)) most = { ...part, score: its }
    }
    yield
  }
  if (!most) return undefined
  const excerpt = excerptOf(originalOf(text)(most.start, most.end))
  return { ...FOUND, strength: isSure ? 'strong' : 'weak', excerpt }
}
