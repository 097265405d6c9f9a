import type { JsonSchema } from '../../contracts/index.ts'

/** The fields of an object's schema as a table, in Markdown. */
export function schemaTable(schema: JsonSchema): string {
  const properties = Object.entries(schemasIn(schema.properties))
  if (properties.length === 0) return '_Nothing in particular._'
  const required = requiredOf(schema)
  const rows = properties.map(([name, one]) => {
    const cells = [`\`${name}\``, typeText(one), presence(one, required.has(name)), String(one.description ?? '')]
    return `| ${cells.map(cell).join(' | ')} |`
  })
  return ['| name | type | required | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

/** A table cell ends at a bar or a line break, whatever the text meant by it. */
export function cell(text: string): string {
  return text.replace(/\|/g, '\\|').replace(/\s+/g, ' ').trim()
}

function presence({ default: usual }: JsonSchema, isRequired: boolean): string {
  if (usual === undefined) return isRequired ? 'yes' : 'no'
  return `no: \`${JSON.stringify(usual)}\``
}

/** As deep as a reader still follows; what is deeper is told by its kind alone. */
const DEEPEST = 2

function typeText(schema: JsonSchema, depth = 0): string {
  if (Array.isArray(schema.enum)) return schema.enum.map(literal).join(' or ')
  if (schema.const !== undefined) return literal(schema.const)
  const choices = [schema.anyOf, schema.oneOf].find(Array.isArray)
  if (choices) return [...new Set(choices.map(one => typeText(one as JsonSchema, depth)))].join(' or ')
  if (Array.isArray(schema.type)) return schema.type.map(type => typeText({ ...schema, type }, depth)).join(' or ')
  return plainType(schema, depth)
}

function plainType(schema: JsonSchema, depth: number): string {
  if (schema.type === 'array') return `list of ${typeText((schema.items ?? {}) as JsonSchema, depth)}${bounds(schema)}`
  if (schema.type === 'object') return objectText(schema, depth)
  return typeof schema.type === 'string' ? `${schema.type}${bounds(schema)}` : 'any'
}

/** `object (id, name?)`; one that may be left out has a question mark. */
function objectText(schema: JsonSchema, depth: number): string {
  const required = requiredOf(schema)
  const fields = Object.entries(schemasIn(schema.properties))
  if (fields.length === 0 || depth >= DEEPEST) return 'object'
  const inside = fields.map(([name, one]) => {
    const text = isPlain(one) ? '' : `: ${typeText(one, depth + 1)}`
    return `\`${name}${required.has(name) ? '' : '?'}\`${text}`
  })
  return `object (${inside.join(', ')})`
}

/** Of fields inside others it is enough to know what they are called, unless they have fields themselves. */
function isPlain({ type, anyOf, oneOf }: JsonSchema): boolean {
  return type !== 'object' && type !== 'array' && anyOf === undefined && oneOf === undefined
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

function requiredOf({ required }: JsonSchema): ReadonlySet<unknown> {
  return new Set(Array.isArray(required) ? required : [])
}

function schemasIn(properties: unknown): Record<string, JsonSchema> {
  return (properties ?? {}) as Record<string, JsonSchema>
}
