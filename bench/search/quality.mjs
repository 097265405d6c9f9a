// @ts-check
import { figure } from '../lib/figure.mjs'
import { createSearchIndex } from '../lib/product.mjs'
import { readData } from './data.mjs'

/** @typedef {{ relevant: ReadonlySet<string>, found: readonly string[] }} Answer */

const DEPTH = 10

/**
 * How many of the tools that answer a question stand near the top.
 * @param {object} options
 * @param {string} options.folder
 */
export function run({ folder }) {
  const { documents, questions } = readData(folder)
  const index = createSearchIndex()
  for (const document of documents) index.add(document, undefined)
  const answers = questions.map(({ query, relevant, tag = '' }) => ({
    tag,
    relevant: new Set(relevant),
    found: index.search(query, { limit: DEPTH }).map(hit => hit.id),
  }))
  const tags = [...new Set(answers.map(({ tag }) => tag))].filter(tag => tag !== '').sort()
  const several = answers.filter(({ relevant }) => relevant.size > 1)
  return [
    figure('tools', documents.length, 'tools'),
    ...judge('all', answers),
    ...(several.length > 0 ? judge('several needs', several) : []),
    ...tags.flatMap(tag =>
      judge(
        tag,
        answers.filter(answer => answer.tag === tag),
      ),
    ),
  ]
}

/**
 * @param {string} label
 * @param {readonly Answer[]} answers
 */
function judge(label, answers) {
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
 * The share of a question's tools among the first hits, so that one which needs several counts fully only with all.
 * @param {number} depth
 * @returns {(answer: Answer) => number}
 */
const recallAt =
  depth =>
  ({ relevant, found }) =>
    found.slice(0, depth).filter(id => relevant.has(id)).length / relevant.size

/**
 * A right tool at place i (from 1) is worth 1 / log2(i + 1); their sum against that of the best possible order.
 * @param {Answer} answer
 */
function gain({ relevant, found }) {
  /** @param {number} i */
  const worth = i => 1 / Math.log2(i + 2)
  const reached = found.reduce((sum, id, i) => sum + (relevant.has(id) ? worth(i) : 0), 0)
  const places = Array.from({ length: Math.min(DEPTH, relevant.size) }, (_, i) => worth(i))
  return reached / places.reduce((sum, place) => sum + place, 0)
}
