// @ts-check
// Prints how many attacks the built-in scanner holds back or tells, and how many ordinary definitions it takes for one.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { compareNames, otherNamesIn, scanDefinition } from '../lib/product.mjs'

/** A definition with the tools around it. @typedef {{ definition: { name?: string }, siblings?: string[], others?: string[] }} Case */

const { values } = parseArgs({ options: { data: { type: 'string' }, json: { type: 'boolean', default: false } } })

/** @param {string} file */
const read = file => JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'))

/** @param {{ description?: string, definition?: { name?: string } }} entry @returns {Case} */
const toCase = ({ description, definition, ...names }) => ({
  definition: definition ?? {
    name: 'lookup',
    ...(description && { description }),
    ...{ inputSchema: { type: 'object' } },
  },
  ...names,
})

/** @param {string} description */
const described = description => toCase({ description })

const attacks = read('attacks.json')
const { attacks: otherHand, ordinary: nearMisses } = read('other-hand.json')
const unseen = read('unseen.json').attacks

/** The phrases were written with the first table in view, and with no other. @type {Record<string, Case[]>} */
const TABLES = {
  'attacks.json': attacks.filter(isKnown).map(toCase),
  'attacks.json, held out': attacks.filter((/** @type {any} */ one) => !isKnown(one)).map(toCase),
  'other-hand.json': otherHand.map((/** @type {{ text: string }} */ { text }) => described(text)),
  'unseen.json, third hand': unseen.filter(isThird).map(toCase),
  'unseen.json, fourth hand': unseen.filter((/** @type {any} */ one) => !isThird(one)).map(toCase),
  'other-hand.json, near misses': nearMisses.map(described),
  'ordinary.json': read('ordinary.json').map(described),
  ...(values.data === undefined ? {} : { 'tools.jsonl': readTools(values.data) }),
}

const rows = Object.entries(TABLES).map(([table, cases]) => {
  const startedAt = performance.now()
  const found = cases.map(findings)
  const milliseconds = (performance.now() - startedAt) / cases.length
  const held = found.filter(list => list.some(({ strength }) => strength === 'strong')).length
  const told = found.filter(list => list.length > 0).length
  return { table, cases: cases.length, held: percent(held, cases), told: percent(told, cases), milliseconds }
})

if (values.json) console.log(JSON.stringify(rows, null, 2))
else console.table(rows)

/** @param {{ heldOut?: boolean }} entry */
function isKnown({ heldOut = false }) {
  return !heldOut
}

/** @param {{ hand: string }} entry */
function isThird({ hand }) {
  return hand === 'third'
}

/** @param {Case} one */
function findings({ definition, siblings = [], others = [] }) {
  const own = new Set([...siblings, ...(definition.name === undefined ? [] : [definition.name])])
  const steps = scanDefinition(definition, compareNames({ siblings: own, others: otherNamesIn(others) }))
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** @param {number} count @param {readonly Case[]} cases */
function percent(count, cases) {
  return Math.round((10_000 * count) / cases.length) / 100
}

/** Ordinary tools: a line for each, with `name`, `description` and `parameters`. @param {string} folder @returns {Case[]} */
function readTools(folder) {
  const lines = readFileSync(join(folder, 'tools.jsonl'), 'utf8').split('\n')
  const tools = lines.filter(line => line.trim() !== '').map(line => JSON.parse(line))
  return tools.map(({ name, description, parameters = [] }) => {
    const properties = Object.fromEntries(parameters.map((/** @type {any} */ { name, ...schema }) => [name, schema]))
    return { definition: { name, ...{ description, inputSchema: { type: 'object', properties } } } }
  })
}
