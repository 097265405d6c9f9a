// @ts-check
import { figure } from '../lib/figure.mjs'
import { heapMb } from '../lib/memory.mjs'
import { createSearchIndex } from '../lib/product.mjs'
import { highest, median, p99 } from '../lib/statistics.mjs'
import { readData } from './data.mjs'

/** @typedef {import('./data.mjs').SearchDocument} SearchDocument */
/** @typedef {import('../../packages/quartermaster/src/core/search/index.ts').SearchIndex<undefined>} Index */

const SEARCH_MS = 10
const CHANGE_MS = 1

/**
 * What searching costs, and keeping the index up to date.
 * @param {object} options
 * @param {string} options.folder
 * @param {number} options.many
 */
export function run({ folder, many }) {
  const { documents, questions } = readData(folder)
  const queries = questions.map(({ query }) => query)
  const crowd = Array.from({ length: many }, (_, i) => copy(documents, i))
  const emptyMb = heapMb()
  const startedAt = performance.now()
  /** @type {Index} */
  const index = createSearchIndex()
  for (const document of crowd) index.add(document, undefined)
  const builtMs = performance.now() - startedAt
  const builtMb = heapMb() - emptyMb
  // Once for the optimiser: a gateway that has run for a second is what people wait for.
  for (const query of queries) index.search(query)
  const times = queries.map(query => timed(() => index.search(query)))
  return [
    figure(`${many} documents, indexed`, builtMs, 'ms'),
    figure(`${many} documents, heap`, builtMb, 'MB'),
    figure(`${many} documents, search, p50`, median(times), 'ms', SEARCH_MS),
    figure(`${many} documents, search, p99`, p99(times), 'ms', SEARCH_MS),
    figure(`${many} documents, search, slowest`, highest(times), 'ms'),
    ...changes(index, crowd),
  ]
}

/**
 * The pool's documents over and over under new ids, until there are enough.
 * @param {readonly SearchDocument[]} documents
 * @param {number} i
 * @returns {SearchDocument}
 */
function copy(documents, i) {
  const document = documents[i % documents.length]
  if (!document) throw new Error('There are no tools.')
  return { ...document, id: `${document.id}#${i}` }
}

/**
 * @param {Index} index
 * @param {readonly SearchDocument[]} documents
 */
function changes(index, documents) {
  const some = documents.filter((_, i) => i % 10 === 0)
  const removals = some.map(({ id }) => timed(() => index.remove(id)))
  const additions = some.map(document => timed(() => index.add(document, undefined)))
  return [
    figure('one document removed, p50', median(removals), 'ms', CHANGE_MS),
    figure('one document removed, p99', p99(removals), 'ms', CHANGE_MS),
    figure('one document added, p50', median(additions), 'ms', CHANGE_MS),
    figure('one document added, p99', p99(additions), 'ms', CHANGE_MS),
  ]
}

/** @param {() => unknown} work */
function timed(work) {
  const startedAt = performance.now()
  work()
  return performance.now() - startedAt
}
