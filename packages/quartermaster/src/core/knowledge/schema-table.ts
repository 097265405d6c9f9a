import { type JsonSchema } from '../../contracts/index.ts'
import { alternatives, fieldsOf, isRecord, line, listAt, referredBy } from '../kernel/index.ts'

/** The fields of an object's schema as a table, in Markdown. */
export function schemaTable(root: JsonSchema): string {
  const fields = fieldsOf(root, root)
  if (fields.length === 0) return '_Nothing in particular._'
  const budget = { left: MOST_FIELDS }
  const rows = fields.map(({ key, schema, isRequired }) => {
    const all = alternatives(root, schema)
    const meaning = String(all.find(one => typeof one.description === 'string')?.description ?? '')
    const cells = [
      code(key),
      typeText({ root, schema, depth: 0, lists: 0, budget }),
      presence(all, isRequired),
      meaning,
    ]
    return `| ${cells.map(cell).join(' | ')} |`
  })
  return ['| name | type | required | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

/** Escapes bars and line breaks, which would end a cell of the table. */
function cell(text: string): string {
  return line(text).replace(/\|/g, '\\|')
}

/** A name as code, without backticks that would end it. */
function code(name: string): string {
  return `\`${name.replaceAll('`', "'")}\``
}

function presence(all: readonly JsonSchema[], isRequired: boolean): string {
  const usual = all.find(one => one.default !== undefined)?.default
  if (usual === undefined) return isRequired ? 'yes' : 'no'
  return `no: \`${JSON.stringify(usual)}\``
}

/** A schema inside that of the table. */
interface Place {
  readonly root: JsonSchema
  readonly schema: JsonSchema
  /** How many objects it is in. */
  readonly depth: number
  /** How many lists it is in, since the last object. */
  readonly lists: number
  /** How many more fields this table may show. */
  readonly budget: { left: number }
}

/** Deeper schemas are shown by their type alone. */
const DEEPEST = 2

/** A few references to one another can stand for millions of fields. */
const MOST_FIELDS = 5_000

function typeText(place: Place): string {
  if (place.budget.left-- <= 0) return '…'
  const texts = variantsOf(place.root, place.schema).map(schema => variantText({ ...place, schema }))
  return [...new Set(texts)].join(' or ')
}

function variantText(place: Place): string {
  const { schema } = place
  if (Array.isArray(schema.enum)) return schema.enum.map(literal).join(' or ')
  if (schema.const !== undefined) return literal(schema.const)
  if (Array.isArray(schema.type))
    return schema.type.map(type => plainType({ ...place, schema: { ...schema, type } })).join(' or ')
  return plainType(place)
}

function plainType(place: Place): string {
  const { schema, depth } = place
  if (schema.type === 'array') return `list${entryText(place)}${bounds(schema)}`
  if (schema.type === 'object' || (schema.type === undefined && schema.properties !== undefined))
    return depth >= DEEPEST ? 'object' : objectText(place)
  return typeof schema.type === 'string' ? `${schema.type}${bounds(schema)}` : 'any'
}

// Lists of lists may be endless.
function entryText(place: Place): string {
  const { items } = place.schema
  if (place.lists >= DEEPEST) return ''
  return ` of ${isRecord(items) ? typeText({ ...place, schema: items, lists: place.lists + 1 }) : 'any'}`
}

/** Such as `object (id, name?)`, with a question mark after optional fields. */
function objectText({ root, schema, depth, budget }: Place): string {
  const fields = fieldsOf(root, schema)
  const inside = fields.slice(0, Math.max(0, budget.left)).map(({ key, schema: one, isRequired }) => {
    budget.left--
    const text = isPlain(root, one) ? '' : `: ${typeText({ root, schema: one, depth: depth + 1, lists: 0, budget })}`
    return `${code(`${key}${isRequired ? '' : '?'}`)}${text}`
  })
  return inside.length === 0 ? 'object' : `object (${inside.join(', ')}${inside.length < fields.length ? ', …' : ''})`
}

/** Whether the name of an inner field is enough, because it has no fields itself. */
function isPlain(root: JsonSchema, schema: JsonSchema): boolean {
  const [only, ...others] = variantsOf(root, schema)
  return others.length === 0 && only?.type !== 'object' && only?.type !== 'array'
}

/** Such as `, 1 to 100`. The largest safe integers are no bounds. */
function bounds(schema: JsonSchema): string {
  const [least, most, unit] = boundsOf(schema)
  const low = typeof least === 'number' && least > -UNBOUNDED ? least : undefined
  const high = typeof most === 'number' && most < UNBOUNDED ? most : undefined
  if (low !== undefined && high !== undefined) return `, ${number(low)} to ${number(high)}${unit}`
  if (high !== undefined) return `, at most ${number(high)}${unit}`
  return low === undefined || (unit !== '' && low === 0) ? '' : `, at least ${number(low)}${unit}`
}

const UNBOUNDED = Number.MAX_SAFE_INTEGER

function boundsOf({ type, ...schema }: JsonSchema): readonly [unknown, unknown, string] {
  if (type === 'string') return [schema.minLength, schema.maxLength, ' characters']
  if (type === 'array') return [schema.minItems, schema.maxItems, ' entries']
  return [schema.minimum, schema.maximum, '']
}

function number(value: number): string {
  return value.toLocaleString('en')
}

function literal(value: unknown): string {
  return JSON.stringify(value)
}

/** More variants do not fit into one cell of a table. */
const MOST_VARIANTS = 16

/** The alternatives of a schema, each without references and choices. */
function variantsOf(root: JsonSchema, schema: JsonSchema, known = new Map<JsonSchema, JsonSchema[]>()): JsonSchema[] {
  const before = known.get(schema)
  if (before) return before
  // A schema that refers to itself adds nothing the second time.
  known.set(schema, [{}])
  const { $ref: _ref, anyOf: _any, oneOf: _one, allOf: _all, ...own } = schema
  const within = (one: JsonSchema) => variantsOf(root, one, known)
  const referred = referredBy(root, schema)
  const choices = [
    ...(referred ? [within(referred)] : []),
    ...listAt(schema, 'allOf').map(within),
    ...(['anyOf', 'oneOf'] as const).map(keyword => listAt(schema, keyword).flatMap(within)),
  ].filter(variants => variants.length > 0)
  const all = choices.reduce(combine, [own])
  known.set(schema, all)
  return all
}

function combine(variants: readonly JsonSchema[], more: readonly JsonSchema[]): JsonSchema[] {
  return variants.flatMap(one => more.slice(0, MOST_VARIANTS).map(other => merge(one, other))).slice(0, MOST_VARIANTS)
}

/** Both schemas in one. For the same keyword the later one wins, which is the narrower one in practice. */
function merge(one: JsonSchema, other: JsonSchema): JsonSchema {
  const both = { ...one, ...other }
  if (one.properties !== undefined && other.properties !== undefined)
    both.properties = { ...(one.properties as JsonSchema), ...(other.properties as JsonSchema) }
  if (Array.isArray(one.required) && Array.isArray(other.required)) both.required = [...one.required, ...other.required]
  return both
}
