import type { JsonSchema } from '../../contracts/index.ts'
import { alternatives, fieldsOf, isSchema, line } from '../kernel/index.ts'
import { waysOf } from './schema-ways.ts'

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
export function cell(text: string): string {
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
