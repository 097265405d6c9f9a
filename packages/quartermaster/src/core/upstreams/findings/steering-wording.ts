import { excerptOf } from '../visible-text.ts'
import type { Draft } from './draft.ts'
import { originalOf } from './plain-text.ts'
import { type WordingPassage, wordingPassages } from './wording-passages.ts'
import { wordingScore } from './wording-score.ts'

/** Of ordinary tools one in a thousand has such a sentence, and of attacks that no rule was written for half. */
const STEERING = 0.9
/** Of ordinary tools next to none has, and of attacks one in four. */
const SURELY_STEERING = 2.3

export const WORDED = 'It is worded like what steers a model.'

const FOUND = { rule: 'instruction', family: 'hint', message: WORDED } as const

/** The sentence of a text that is most like what steers a model, if any is like that at all. Every look is a step. */
export function* steeringIn(text: string, plain: string): Generator<undefined, Draft | undefined> {
  let most: (WordingPassage & { readonly score: number }) | undefined
  for (const passage of wordingPassages(plain)) {
    const score = wordingScore(passage.words)
    if (score > (most?.score ?? STEERING)) most = { ...passage, score }
    yield
  }
  if (!most) return undefined
  const excerpt = excerptOf(originalOf(text)(most.start, most.end))
  return { ...FOUND, strength: most.score > SURELY_STEERING ? 'strong' : 'weak', excerpt }
}
