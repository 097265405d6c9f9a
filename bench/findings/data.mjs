// @ts-check
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Something a server might list, with the names that stand around it.
 * @typedef {object} Case
 * @property {string} what
 * @property {Record<string, unknown>} definition
 * @property {string[]} siblings tools of the same server
 * @property {string[]} others tools of other servers
 */

/**
 * The table of attacks. No rule was written or changed because of a `heldOut` one.
 * @returns {(Case & { heldOut: boolean })[]}
 */
export function readAttacks() {
  const text = readFileSync(new URL('attacks.json', import.meta.url), 'utf8')
  return JSON.parse(text).map(toAttack)
}

/**
 * Attacks and near misses that somebody wrote who had not seen the rules. No rule was written because of one, and none changed
 * but for a near miss that was held back.
 * @returns {{ attacks: (Case & { kind: string })[], nearMisses: Case[] }}
 */
export function readOtherHand() {
  /** @type {{ attacks: { kind: string, text: string }[], ordinary: string[] }} */
  const { attacks, ordinary } = JSON.parse(readFileSync(new URL('other-hand.json', import.meta.url), 'utf8'))
  return {
    attacks: attacks.map(({ kind, text }) => ({ ...toAttack({ what: text, description: text }), kind })),
    nearMisses: ordinary.map(text => toAttack({ what: text, description: text })),
  }
}

/**
 * Attacks by two more hands, whole definitions. No rule was written or changed because of one, and no wording learned from one.
 * What was chosen by those of the third hand is said where it is measured.
 * @returns {(Case & { hand: 'third' | 'fourth' })[]}
 */
export function readUnseen() {
  const { attacks } = JSON.parse(readFileSync(new URL('unseen.json', import.meta.url), 'utf8'))
  return attacks.map((/** @type {any} */ entry) => ({ ...toAttack({ what: entry.kind, ...entry }), hand: entry.hand }))
}

/** @param {Record<string, any>} entry */
function toAttack({ what, heldOut = false, description, definition, siblings = [], others = [] }) {
  const value = definition ?? { name: 'lookup', description, inputSchema: { type: 'object' } }
  return { what, heldOut, definition: value, siblings: [value.name, ...siblings].filter(Boolean), others }
}

/**
 * Ordinary tools: `tools.jsonl` of the folder, a tool a line with `name`, `description`, `group` and `parameters`. Those of
 * one group count as one server.
 * @param {string} folder
 * @returns {Case[]}
 */
export function readOrdinary(folder) {
  const lines = readFileSync(join(folder, 'tools.jsonl'), 'utf8').split('\n')
  const tools = lines.filter(line => line.trim() !== '').map(line => JSON.parse(line))
  /** @type {Map<string, string[]>} */
  const groups = new Map()
  for (const { group = '', name } of tools) groups.set(group, [...(groups.get(group) ?? []), name])
  return tools.map(tool => ({
    what: tool.id ?? tool.name,
    definition: toDefinition(tool),
    siblings: groups.get(tool.group ?? '') ?? [],
    others: [],
  }))
}

/**
 * What servers really list: a JSON file for each, with its `tools`, `prompts`, `resources`, `resourceTemplates` and
 * `instructions` as it answered them.
 * @param {string} folder
 * @returns {Case[]}
 */
export function readListings(folder) {
  const files = readdirSync(folder).filter(file => file.endsWith('.json'))
  return files.toSorted().flatMap(file => toCases(file, JSON.parse(readFileSync(join(folder, file), 'utf8'))))
}

/**
 * @param {string} file
 * @param {{ instructions?: string } & Record<string, Record<string, unknown>[] | undefined>} listing
 * @returns {Case[]}
 */
function toCases(file, { instructions, tools = [], prompts = [], resources = [], resourceTemplates = [] }) {
  const siblings = tools.map(({ name }) => String(name))
  const definitions = [...tools, ...prompts, ...resources, ...resourceTemplates]
  const all = instructions ? [...definitions, { instructions }] : definitions
  return all.map(definition => ({ what: `${file} ${definition.name ?? ''}`, definition, siblings, others: [] }))
}

/** @param {{ name: string, description?: string, parameters?: { name: string, type?: string, description?: string }[] }} tool */
function toDefinition({ name, description, parameters = [] }) {
  const properties = Object.fromEntries(parameters.map(({ name, type, description }) => [name, { type, description }]))
  return { name, description, inputSchema: { type: 'object', properties } }
}
