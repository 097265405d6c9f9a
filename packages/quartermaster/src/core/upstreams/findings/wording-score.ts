import { wordingFeatures } from './wording-features.ts'
import { WORDING_WEIGHTS } from './wording-weights.ts'

/**
 * How much a text is worded like those that steer a model, and how little like those that describe a tool. What speaks for a
 * description may be given a limit: below that `least` no way of wording counts.
 */
export function wordingScore(words: readonly string[], least = Number.NEGATIVE_INFINITY): number {
  const { bias, weights } = model()
  const features = wordingFeatures(words)
  let sum = 0
  for (const feature of features) sum += Math.max(weights.get(feature) ?? 0, least)
  return bias + sum / Math.sqrt(Math.max(features.size, FEW_FEATURES))
}

/** Of a few words none says much: without this a single one would decide about a name or a title. */
export const FEW_FEATURES = 40

interface Model {
  readonly bias: number
  readonly weights: ReadonlyMap<string, number>
}

let known: Model | undefined

/** Read when the first text is looked at: who has no upstream needs none of it. */
function model(): Model {
  known ??= readModel(WORDING_WEIGHTS)
  return known
}

/** A line for each weight, in tenths, with all that have it; the bias stands alone. */
function readModel(text: string): Model {
  const weights = new Map<string, number>()
  let bias = 0
  for (const line of text.trim().split('\n')) {
    const [weight, ...features] = line.split(' ')
    if (features.length === 0) bias = Number(weight) / 10
    for (const feature of features) weights.set(feature, Number(weight) / 10)
  }
  return { bias, weights }
}
