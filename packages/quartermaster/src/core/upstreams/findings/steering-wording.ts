import { excerptOf } from '../visible-text.ts'
import type { Draft } from './draft.ts'
import { originalOf } from './plain-text.ts'
import { partsOf, type WordingPassage, wordingPassages } from './wording-passages.ts'
import { wordingScore } from './wording-score.ts'

/** Of ordinary tools one in a thousand has such a sentence, and of attacks that no rule was written for half. */
const STEERING = 0.65
/** What the rest of a sentence makes of a part is not weighed with it, so it takes more, and holds nothing back by itself. */
const STEERING_PART = 1.8
/** Of ordinary tools next to none has, and of attacks one in four. */
const SURELY_STEERING = 2.2

export const WORDED = 'It reads like something that steers the model, and not like a description of the tool.'

const FOUND = { rule: 'instruction', family: 'hint', message: WORDED } as const

/** The sentence of a text that is most like what steers a model, if any is like that at all. Every look is a step. */
export function* steeringIn(text: string, plain: string): Generator<undefined, Draft | undefined> {
  let whole: Weighed | undefined
  let part: Weighed | undefined
  for (const passage of wordingPassages(plain)) {
    whole = heavier(whole, weighed(passage), STEERING)
    if (!whole) for (const one of partsOf(passage)) part = heavier(part, weighed(one), STEERING_PART)
    yield
  }
  const most = whole ?? part
  if (!most) return undefined
  const isSure = whole !== undefined && whole.score > SURELY_STEERING
  const excerpt = excerptOf(originalOf(text)(most.start, most.end))
  return { ...FOUND, strength: isSure ? 'strong' : 'weak', excerpt }
}

type Weighed = WordingPassage & { readonly score: number }

const weighed = (passage: WordingPassage): Weighed => ({ ...passage, score: wordingScore(passage.words) })

function heavier(most: Weighed | undefined, next: Weighed, bar: number): Weighed | undefined {
  return next.score > (most?.score ?? bar) ? next : most
}
