import { type JsonSchema } from '../../contracts/index.ts'
import { alternatives, fieldsOf, isSchema, line, listAt, referredBy } from '../kernel/index.ts'

/** The fields of an object's schema as a table, in Markdown. */
export function schemaTable(root: JsonSchema): string {
  const fields = fieldsOf(root, root)
  if (fields.length === 0) return '_Nothing in particular._'
  const room = { left: MOST_TOLD }
  const rows = fields.map(({ key, schema, isRequired }) => {
    const all = alternatives(root, schema)
    const meaning = String(all.find(one => typeof one.description === 'string')?.description ?? '')
    const cells = [code(key), typeText({ root, schema, depth: 0, lists: 0, room }), presence(all, isRequired), meaning]
    return `| ${cells.map(cell).join(' | ')} |`
  })
  return ['| name | type | required | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

/** A table cell ends at a bar or a line break, whatever the text meant by it. */
function cell(text: string): string {
  return line(text).replace(/\|/g, '\\|')
}

/** A name in ticks, which it cannot leave. */
function code(name: string): string {
  return `\`${name.replaceAll('`', "'")}\``
}

function presence(all: readonly JsonSchema[], isRequired: boolean): string {
  const usual = all.find(one => one.default !== undefined)?.default
  if (usual === undefined) return isRequired ? 'yes' : 'no'
  return `no: \`${JSON.stringify(usual)}\``
}

/** A schema, and where it stands inside that of the table. */
interface Place {
  readonly root: JsonSchema
  readonly schema: JsonSchema
  /** In how many objects. */
  readonly depth: number
  /** In how many lists, since the last object. */
  readonly lists: number
  /** How much more is told in this table. */
  readonly room: { left: number }
}

/** As deep as a reader still follows; what is deeper is told by its kind alone. */
const DEEPEST = 2

/** A few references to one another can stand for millions of fields. */
const MOST_TOLD = 5_000

function typeText(place: Place): string {
  if (place.room.left-- <= 0) return '…'
  const texts = waysOf(place.root, place.schema).map(schema => wayText({ ...place, schema }))
  return [...new Set(texts)].join(' or ')
}

function wayText(place: Place): string {
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

/** Lists of lists may go on for ever. */
function entryText(place: Place): string {
  const { items } = place.schema
  if (place.lists >= DEEPEST) return ''
  return ` of ${isSchema(items) ? typeText({ ...place, schema: items, lists: place.lists + 1 }) : 'any'}`
}

/** `object (id, name?)`; one that may be left out has a question mark. */
function objectText({ root, schema, depth, room }: Place): string {
  const fields = fieldsOf(root, schema)
  const inside = fields.slice(0, Math.max(0, room.left)).map(({ key, schema: one, isRequired }) => {
    room.left--
    const text = isPlain(root, one) ? '' : `: ${typeText({ root, schema: one, depth: depth + 1, lists: 0, room })}`
    return `${code(`${key}${isRequired ? '' : '?'}`)}${text}`
  })
  return inside.length === 0 ? 'object' : `object (${inside.join(', ')}${inside.length < fields.length ? ', …' : ''})`
}

/** Of fields inside others it is enough to know what they are called, unless they have fields themselves. */
function isPlain(root: JsonSchema, schema: JsonSchema): boolean {
  const [only, ...others] = waysOf(root, schema)
  return others.length === 0 && only?.type !== 'object' && only?.type !== 'array'
}

/** `, 1 to 100`, where something is said. Numbers that only say that there is no bound are none. */
function bounds(schema: JsonSchema): string {
  const [least, most, what] = boundsOf(schema)
  const low = typeof least === 'number' && least > -UNBOUNDED ? least : undefined
  const high = typeof most === 'number' && most < UNBOUNDED ? most : undefined
  if (low !== undefined && high !== undefined) return `, ${number(low)} to ${number(high)}${what}`
  if (high !== undefined) return `, at most ${number(high)}${what}`
  return low === undefined || (what !== '' && low === 0) ? '' : `, at least ${number(low)}${what}`
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

/** More alternatives than this do not fit into one cell of a table. */
const MOST_WAYS = 16

/** The ways in which a place can be filled, each a schema that refers to nothing and leaves nothing open. */
function waysOf(root: JsonSchema, schema: JsonSchema, known = new Map<JsonSchema, JsonSchema[]>()): JsonSchema[] {
  const before = known.get(schema)
  if (before) return before
  // What refers to itself says nothing more the second time.
  known.set(schema, [{}])
  const { $ref: _ref, anyOf: _any, oneOf: _one, allOf: _all, ...own } = schema
  const within = (one: JsonSchema) => waysOf(root, one, known)
  const referred = referredBy(root, schema)
  const choices = [
    ...(referred ? [within(referred)] : []),
    ...listAt(schema, 'allOf').map(within),
    ...(['anyOf', 'oneOf'] as const).map(keyword => listAt(schema, keyword).flatMap(within)),
  ].filter(ways => ways.length > 0)
  const all = choices.reduce(eachWith, [own])
  known.set(schema, all)
  return all
}

function eachWith(ways: readonly JsonSchema[], more: readonly JsonSchema[]): JsonSchema[] {
  return ways.flatMap(one => more.slice(0, MOST_WAYS).map(other => joined(one, other))).slice(0, MOST_WAYS)
}

/** Both at once; for the same keyword the later one wins, which is the narrower one in practice. */
function joined(one: JsonSchema, other: JsonSchema): JsonSchema {
  const both = { ...one, ...other }
  if (one.properties !== undefined && other.properties !== undefined)
    both.properties = { ...(one.properties as JsonSchema), ...(other.properties as JsonSchema) }
  if (Array.isArray(one.required) && Array.isArray(other.required)) both.required = [...one.required, ...other.required]
  return both
}
