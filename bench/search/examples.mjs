// @ts-check
import { createSearchIndex } from '../lib/product.mjs'
import { readData } from './data.mjs'
import { DEPTH, judge } from './judge.mjs'

/** @typedef {import('./data.mjs').SearchDocument} SearchDocument */
/** @typedef {import('./data.mjs').Question} Question */

/** As many as somebody writes who takes the trouble. */
const MOST_EXAMPLES = 3

/**
 * What example questions bring. A tool has those of the labelled questions as examples that it answers alone; of these never
 * the one that is asked.
 * @param {object} options
 * @param {string} options.folder
 */
export function run({ folder }) {
  const { documents, questions } = readData(folder)
  const plain = createSearchIndex()
  for (const document of documents) plain.add(document, undefined)
  const told = answersWithExamples({ documents, questions })
  const answers = told.map((answer, i) => ({
    ...answer,
    before: plain.search(questions[i]?.query ?? '', { limit: DEPTH }).map(hit => hit.id),
  }))
  const shown = answers.filter(({ hasExample }) => hasExample)
  /** @param {typeof answers} some */
  const without = some => some.map(({ relevant, before }) => ({ relevant, found: before }))
  return [
    ...judge('all, without examples', without(answers)),
    ...judge('all, with examples where there are any', answers),
    ...(shown.length === 0
      ? []
      : [
          ...judge('those whose tool has an example, without it', without(shown)),
          ...judge('those whose tool has an example, with it', shown),
        ]),
  ]
}

/**
 * What is found where tools have examples, and what else is in the index.
 * @param {object} options
 * @param {readonly SearchDocument[]} options.documents
 * @param {readonly Question[]} options.questions
 * @param {readonly SearchDocument[]} [options.beside]
 */
export function answersWithExamples({ documents, questions, beside = [] }) {
  const told = createSearchIndex()
  const byId = new Map(documents.map(document => [document.id, document]))
  const examples = examplesIn(questions)
  for (const document of documents) told.add(withExamples(document, examples.get(document.id) ?? []), undefined)
  for (const document of beside) told.add(document, undefined)
  return questions.map(({ query, relevant }) => {
    const others = relevant.map(id => (examples.get(id) ?? []).filter(one => one !== query))
    /** @param {(id: string, others: readonly string[]) => SearchDocument | undefined} change */
    const exchange = change => {
      for (const [i, id] of relevant.entries()) {
        const document = change(id, others[i] ?? [])
        if (document) told.add(document, undefined)
      }
    }
    exchange((id, rest) => withExamples(byId.get(id), rest))
    const found = told.search(query, { limit: DEPTH }).map(hit => hit.id)
    exchange(id => withExamples(byId.get(id), examples.get(id) ?? []))
    return { relevant: new Set(relevant), hasExample: others.some(rest => rest.length > 0), found }
  })
}

/**
 * @param {readonly Question[]} questions
 * @returns {Map<string, string[]>}
 */
function examplesIn(questions) {
  const examples = new Map()
  for (const { query, relevant } of questions) {
    const [id] = relevant
    if (relevant.length === 1) examples.set(id, [...new Set([...(examples.get(id) ?? []), query])])
  }
  return examples
}

/**
 * @template {SearchDocument | undefined} D
 * @param {D} document
 * @param {readonly string[]} examples
 * @returns {D}
 */
function withExamples(document, examples) {
  return document && { ...document, examples: examples.slice(0, MOST_EXAMPLES) }
}
