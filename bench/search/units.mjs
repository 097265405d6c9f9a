// @ts-check
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { figure } from '../lib/figure.mjs'
import { createSearchIndex, searchDocument, unitEntry } from '../lib/product.mjs'
import { readData, readLines } from './data.mjs'
import { answersWithExamples } from './examples.mjs'
import { DEPTH, judge } from './judge.mjs'

const PAGES = fileURLToPath(new URL('../../docs', import.meta.url))
const QUESTIONS = fileURLToPath(new URL('units.jsonl', import.meta.url))

/**
 * Questions about what is written down, over our own pages and all tools of the folder in one index; and those about tools once
 * more, with the pages beside them.
 * @param {object} options
 * @param {string} options.folder
 */
export function run({ folder }) {
  const { documents, questions } = readData(folder)
  const units = [...pagesIn(''), ...pagesIn('reference')]
  const index = createSearchIndex()
  for (const document of [...documents, ...units]) index.add(document, document.id)
  const isUnit = new Set(units.map(({ id }) => id))
  const asked = /** @type {import('./data.mjs').Question[]} */ (readLines(QUESTIONS))
  const unknown = asked.flatMap(({ relevant }) => relevant).filter(path => !isUnit.has(path))
  if (unknown.length > 0) throw new Error(`There is no page ${[...new Set(unknown)].join(', ')}.`)
  /**
   * @param {readonly import('./data.mjs').Question[]} some
   * @param {(id: unknown) => boolean} [filter]
   */
  const answersTo = (some, filter = () => true) =>
    some.map(({ query, relevant }) => ({
      relevant: new Set(relevant),
      found: index.search(query, { limit: DEPTH, filter }).map(hit => hit.id),
    }))
  return [
    figure('units', units.length, 'units'),
    figure('tools', documents.length, 'tools'),
    ...judge(
      'units, among units',
      answersTo(asked, id => isUnit.has(String(id))),
    ),
    ...judge('units, among units and tools', answersTo(asked)),
    ...judge('tools, among units and tools', answersTo(questions)),
    ...judge(
      'tools, among units and tools, with examples',
      answersWithExamples({ documents, questions, beside: units }),
    ),
    ...judge(
      'tools, among tools, with units indexed',
      answersTo(questions, id => !isUnit.has(String(id))),
    ),
  ]
}

/**
 * Our pages as somebody would hand them in as units.
 * @param {string} folder
 */
function pagesIn(folder) {
  const names = readdirSync(join(PAGES, folder)).filter(name => name.endsWith('.md') && name !== 'README.md')
  return names.map(name => {
    const path = join(folder, name.replace(/\.md$/, '')).replaceAll('\\', '/')
    const text = readFileSync(join(PAGES, folder, name), 'utf8')
    const [head = '', summary = ''] = text.split(/\n\n+/)
    const unit = {
      path,
      title: head.replace(/^# /, ''),
      summary: summary.slice(0, 1_000),
      body: text.slice(head.length),
    }
    return searchDocument(unitEntry(/** @type {never} */ ({ ...BARE, ...unit })))
  })
}

const BARE = { kind: 'reference', tools: [], tags: [], aliases: [], parents: [], seeAlso: [] }
