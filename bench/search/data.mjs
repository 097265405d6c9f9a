// @ts-check
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** @typedef {import('../../packages/quartermaster/src/core/search/index.ts').SearchDocument} SearchDocument */

/**
 * @typedef {object} Tool
 * @property {string} id
 * @property {string} name
 * @property {string} [description]
 * @property {string} [group]
 * @property {{ name?: string, description?: string }[]} [parameters]
 * @property {string[]} [examples]
 */

/**
 * A question and the ids of the tools that answer it.
 * @typedef {object} Question
 * @property {string} query
 * @property {string[]} relevant
 * @property {string} [tag]
 */

/**
 * Labelled questions over a pool of tools: `tools.jsonl` and every `queries*.jsonl` of the folder.
 * @param {string} folder
 */
export function readData(folder) {
  const files = readdirSync(folder)
    .filter(name => /^queries.*\.jsonl$/.test(name))
    .sort()
  if (files.length === 0) throw new Error(`There is no queries*.jsonl in ${folder}.`)
  const tools = /** @type {Tool[]} */ (readLines(join(folder, 'tools.jsonl')))
  const questions = /** @type {Question[]} */ (files.flatMap(file => readLines(join(folder, file))))
  return { documents: tools.map(toDocument), questions }
}

/** @param {string} file */
export function readLines(file) {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter(line => line.trim() !== '').map(line => JSON.parse(line))
}

/**
 * @param {Tool} tool
 * @returns {SearchDocument}
 */
function toDocument({ id, name, description = '', group = '', parameters = [], examples = [] }) {
  const told = parameters.map(parameter => `${parameter.name ?? ''} ${parameter.description ?? ''}`)
  return { id, name, title: '', text: description, group, parameters: told, examples }
}
