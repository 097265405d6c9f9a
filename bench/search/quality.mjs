// @ts-check
import { figure } from '../lib/figure.mjs'
import { createSearchIndex } from '../lib/product.mjs'
import { readData } from './data.mjs'
import { DEPTH, judge } from './judge.mjs'

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
