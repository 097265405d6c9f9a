// @ts-check
// Learns how texts are worded that steer a model, from those in `wording`, and writes it into the product.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { FEW_FEATURES, plainText, wordingFeatures, wordingPassages } from '../lib/product.mjs'

/** A sentence or two of a text. @typedef {{ text: string, features: readonly string[], isAttack: boolean }} Example */

const TEXTS = new URL('wording/', import.meta.url)
const WEIGHTS = new URL('../../packages/quartermaster/src/core/upstreams/findings/wording-weights.ts', import.meta.url)

/** What hardly any text says is no way of wording, and each feature takes memory. */
const FEWEST_TEXTS = 3
const ROUNDS = 12
const PACE = 0.3
/** So that nothing is divided by nothing. */
const NO_SLOPE = 1e-8
/** Keeps weights small, so that many words decide and no single one does. */
const DECAY = 3e-3

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
const text = written(learned(readExamples()))
if (!values.check) writeFileSync(WEIGHTS, text)
else if (readFileSync(WEIGHTS, 'utf8') !== text) {
  console.error('What is learned is not what is written down. Learn it anew: npm run learn:wording')
  process.exitCode = 1
}

/** @returns {Example[]} */
function readExamples() {
  return readdirSync(TEXTS)
    .toSorted()
    .flatMap(file => {
      /** @type {{ attack: string[], honest: string[] }} */
      const { attack, honest } = JSON.parse(readFileSync(new URL(file, TEXTS), 'utf8'))
      return [
        ...attack.flatMap(text => steering(text)),
        ...honest.flatMap(text => passages(text).map(features => ({ text, features, isAttack: false }))),
      ]
    })
}

/** Of several sentences each says only a part, so two together are the example. @param {string} text @returns {Example[]} */
function steering(text) {
  const all = [...wordingPassages(plainText(text))]
  const pairs = all.filter(({ words }) => words.includes('.'))
  return (pairs.length > 0 ? pairs : all).map(({ words }) => ({
    text,
    features: [...wordingFeatures(words)],
    isAttack: true,
  }))
}

/** @param {string} text */
function passages(text) {
  return [...wordingPassages(plainText(text))].map(({ words }) => [...wordingFeatures(words)])
}

/** A regression of all features that are said often enough. @param {readonly Example[]} examples */
function learned(examples) {
  /** @type {Map<string, Set<string>>} */
  const texts = new Map()
  for (const { text, features } of examples)
    for (const feature of features) texts.set(feature, (texts.get(feature) ?? new Set()).add(text))
  const known = [...texts].filter(([, { size }]) => size >= FEWEST_TEXTS).map(([feature]) => feature)
  const places = new Map(known.map((feature, index) => [feature, index]))
  const rows = examples.map(({ features, isAttack }) => ({
    at: features.flatMap(feature => places.get(feature) ?? []),
    scale: 1 / Math.sqrt(Math.max(features.length, FEW_FEATURES)),
    wanted: isAttack ? 1 : 0,
  }))
  const { bias, weights } = regression(rows, known.length)
  return { bias, weights: new Map(known.map((feature, index) => [feature, weights[index] ?? 0])) }
}

/**
 * @param {readonly { at: readonly number[], scale: number, wanted: number }[]} rows
 * @param {number} size
 */
function regression(rows, size) {
  const weights = new Float64Array(size)
  const slopes = new Float64Array(size).fill(NO_SLOPE)
  const bias = { weight: 0, slopes: NO_SLOPE }
  const random = sequence()
  for (let round = 0; round < ROUNDS; round++)
    for (const { at, scale, wanted } of shuffled(rows, random)) {
      const score = at.reduce((sum, place) => sum + (weights[place] ?? 0) * scale, bias.weight)
      const error = shareOf(score) - wanted
      for (const place of at) {
        const weight = weights[place] ?? 0
        const slope = error * scale + DECAY * weight
        const sum = (slopes[place] ?? 0) + slope * slope
        slopes[place] = sum
        // What is met often takes smaller steps.
        weights[place] = weight - (PACE * slope) / Math.sqrt(sum)
      }
      bias.slopes += error * error
      bias.weight -= (PACE * error) / Math.sqrt(bias.slopes)
    }
  return { bias: bias.weight, weights }
}

/** From 0 to 1, and the same on every machine to the last bit, which a function with an exponential in it need not be. @param {number} score */
function shareOf(score) {
  const half = score / 2
  return (1 + half / Math.sqrt(1 + half * half)) / 2
}

/** The same numbers every time, so that the same texts make the same weights. */
function sequence() {
  let state = 12_345
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return state / 0x7fffffff
  }
}

/**
 * @template T
 * @param {readonly T[]} items
 * @param {() => number} random
 */
function shuffled(items, random) {
  const mixed = [...items]
  for (let last = mixed.length - 1; last > 0; last--) {
    const other = Math.floor(random() * last)
    const kept = /** @type {T} */ (mixed[last])
    mixed[last] = /** @type {T} */ (mixed[other])
    mixed[other] = kept
  }
  return mixed
}

/** @param {ReturnType<typeof learned>} model */
function written({ bias, weights }) {
  /** @type {Map<number, string[]>} */
  const byWeight = new Map()
  for (const [feature, weight] of weights) {
    const tenths = Math.round(weight * 10)
    if (tenths !== 0) byWeight.set(tenths, [...(byWeight.get(tenths) ?? []), feature])
  }
  const lines = [...byWeight]
    .toSorted(([a], [b]) => a - b)
    .map(([weight, features]) => `${weight} ${features.toSorted().join(' ')}`)
  const text = [`${Math.round(bias * 10)}`, ...lines].join('\n')
  return `/** Learned by \`npm run learn:wording\` from \`bench/findings/wording\`. */\nexport const WORDING_WEIGHTS = \`\n${text}\n\`\n`
}
