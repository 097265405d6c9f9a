// @ts-check
import { z } from 'zod'
import { product } from './product.mjs'

/** @typedef {import('./product.mjs').SourceUnit} SourceUnit */
/** @typedef {'json' | 'zod'} SchemaKind */
/** @typedef {Parameters<typeof product.defineDependency>[0]} Dependency */

const FIELDS = ['query', 'limit', 'verbose', 'labels', 'order']

/** A schema of its own for every tool, with three to five properties. @type {Record<SchemaKind, (n: number) => object>} */
const INPUTS = {
  json: n => ({
    type: 'object',
    properties: Object.fromEntries(fieldsOf(n).map(field => [field, jsonField(field, n)])),
    required: ['query'],
    additionalProperties: false,
  }),
  zod: n => z.strictObject(Object.fromEntries(fieldsOf(n).map(field => [field, zodField(field, n)]))),
}

/**
 * @typedef {object} ToolStyle
 * @property {SchemaKind} [kind]
 * @property {boolean} [withExample] An example is checked against the schema, which has to be compiled for it.
 */

/**
 * A small read-only tool that shares nothing with any other.
 * @param {string} name
 * @param {number} n
 * @param {ToolStyle} style
 */
export function sampleTool(name, n, { kind = 'json', withExample = false }) {
  return product.defineTool({
    name,
    short: `Searches shelf ${n} and answers with what it found there.`,
    whenToUse: `For questions about shelf ${n}. It answers a list of titles, not their contents.`,
    mutates: false,
    input: /** @type {{ type: 'object' }} */ (INPUTS[kind](n)),
    ...(withExample && { examples: [{ query: `What is on shelf ${n}?`, input: { query: 'all' } }] }),
    handler: () => name,
  })
}

/**
 * One capability in a unit of its own, as a file would bring it.
 * @param {object} options
 * @param {string} options.key
 * @param {number} options.tools
 * @param {number} options.from The number of the first tool.
 * @param {Dependency} options.dependency
 * @param {ToolStyle} [options.style]
 * @returns {SourceUnit}
 */
export function sampleUnit({ key, tools, from, dependency, style = {} }) {
  const made = Array.from({ length: tools }, (_, i) => sampleTool(`${key}_tool_${i}`, from + i, style))
  const capability = product.defineCapability({
    key,
    short: `All shelves of ${key}.`,
    tools: made,
    requires: [dependency.name],
    dependencies: [dependency],
  })
  return {
    id: `capabilities/${key}.ts`,
    hash: key,
    definitions: { capabilities: [capability], dependencies: [], injections: [] },
  }
}

/** @param {number} n */
function fieldsOf(n) {
  return FIELDS.slice(0, 3 + (n % 3))
}

/**
 * @param {string} field
 * @param {number} n
 */
function jsonField(field, n) {
  const description = `The ${field} of shelf ${n}.`
  if (field === 'query') return { type: 'string', minLength: 1, maxLength: 200, description }
  if (field === 'limit') return { type: 'integer', minimum: 1, maximum: 100 + n, description }
  if (field === 'verbose') return { type: 'boolean', description }
  if (field === 'labels') return { type: 'array', items: { type: 'string' }, maxItems: 10, description }
  return { enum: ['newest', 'oldest', `shelf-${n}`], description }
}

/**
 * @param {string} field
 * @param {number} n
 */
function zodField(field, n) {
  const description = `The ${field} of shelf ${n}.`
  if (field === 'query') return z.string().min(1).max(200).describe(description)
  if (field === 'limit')
    return z
      .int()
      .min(1)
      .max(100 + n)
      .optional()
      .describe(description)
  if (field === 'verbose') return z.boolean().optional().describe(description)
  if (field === 'labels') return z.array(z.string()).max(10).optional().describe(description)
  return z
    .enum(['newest', 'oldest', `shelf-${n}`])
    .optional()
    .describe(description)
}
