// @ts-check
import { figure } from '../lib/figure.mjs'

/** @typedef {{ relevant: ReadonlySet<string>, found: readonly string[] }} Answer */

/** How many hits are looked at. */
export const DEPTH = 10

/**
 * How many of what answers a question stands near the top.
 * @param {string} label
 * @param {readonly Answer[]} answers
 */
export function judge(label, answers) {
  /** @param {(answer: Answer) => number} measure */
  const percent = measure => (100 * answers.reduce((sum, answer) => sum + measure(answer), 0)) / answers.length
  return [
    figure(`${label}, questions`, answers.length, 'questions'),
    figure(`${label}, recall@5`, percent(recallAt(5)), '%'),
    figure(`${label}, recall@10`, percent(recallAt(10)), '%'),
    figure(
      `${label}, all of them within 10`,
      percent(answer => Number(recallAt(10)(answer) === 1)),
      '%',
    ),
    figure(`${label}, nDCG@10`, percent(gain), '%'),
  ]
}

/**
 * The share of what is relevant among the first hits, so that a question which needs several counts fully only with all.
 * @param {number} depth
 * @returns {(answer: Answer) => number}
 */
const recallAt =
  depth =>
  ({ relevant, found }) =>
    found.slice(0, depth).filter(id => relevant.has(id)).length / relevant.size

/**
 * Something right at place i (from 1) is worth 1 / log2(i + 1); their sum against that of the best possible order.
 * @param {Answer} answer
 */
function gain({ relevant, found }) {
  /** @param {number} i */
  const worth = i => 1 / Math.log2(i + 2)
  const reached = found.reduce((sum, id, i) => sum + (relevant.has(id) ? worth(i) : 0), 0)
  const places = Array.from({ length: Math.min(DEPTH, relevant.size) }, (_, i) => worth(i))
  return reached / places.reduce((sum, place) => sum + place, 0)
}
