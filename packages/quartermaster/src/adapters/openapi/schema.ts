import { isRecord, type Node, Unmappable } from './node.ts'
import type { References } from './references.ts'

/** Deeper than people describe what they send. Below it anything goes. */
const DEEPEST = 8

/** A declaration has at most 256 KiB. References make a small document large: what they lead to counts each time. */
export const SCHEMA_CHARACTERS = 200_000
/** About as much as a schema takes that says nothing. */
const FRAME = 10

/** Words of OpenAPI that JSON Schema does not know, and examples, which are not for validating. */
const DROPPED = new Set([
  'example',
  'examples',
  'discriminator',
  'xml',
  'externalDocs',
  'nullable',
  'readOnly',
  'writeOnly',
  'deprecated',
  '$schema',
  '$id',
  '$anchor',
  '$defs',
  'definitions',
])
const FORMATS = new Set(['date', 'time', 'date-time', 'email', 'uri', 'uuid', 'hostname', 'ipv4', 'ipv6'])
const LISTS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const MAPS = new Set(['properties', 'patternProperties'])
const SCHEMAS = new Set(['items', 'additionalProperties', 'not', 'contains', 'propertyNames', 'if', 'then', 'else'])

/** The schemas of a document, for one operation. */
export interface Schemas {
  readonly references: References
  /** A schema as JSON Schema, without references. */
  plain(given: unknown): Node
}

/** Whole schemas. Throws `Unmappable` when those of the operation are too large together. */
export function wholeSchemas(references: References, { isOld }: { readonly isOld: boolean }): Schemas {
  let left = SCHEMA_CHARACTERS
  const spend = (characters: number) => {
    left -= characters
    if (left < 0)
      throw new Unmappable('What it takes is too large to be told to a model; write a declaration with what you need.')
  }
  return { references, plain: given => plainSchema(given, { references, isOld, spend }) }
}

/** Only what a schema says itself, for whoever looks at many operations. */
export function outerSchemas(references: References): Schemas {
  return { references, plain: given => references.follow(given) }
}

interface Plain {
  readonly references: References
  readonly isOld: boolean
  /** Told how long each part is when it is written. */
  spend(characters: number): void
}

function plainSchema(given: unknown, options: Plain, within: readonly Node[] = []): Node {
  const node = options.references.follow(given)
  // One that contains itself is any value from there on.
  if (within.length >= DEEPEST || within.includes(node)) return {}
  options.spend(FRAME)
  const inner = (value: unknown) => plainSchema(value, options, [...within, node])
  const schema: Record<string, unknown> = {}
  for (const [word, value] of Object.entries(node)) {
    if (DROPPED.has(word) || word.startsWith('x-')) continue
    if (word === 'format' && !FORMATS.has(String(value))) continue
    if (LISTS.has(word) && Array.isArray(value)) schema[word] = value.map(inner)
    else if (MAPS.has(word) && isRecord(value)) schema[word] = mapped(value, inner)
    else if (SCHEMAS.has(word) && isRecord(value)) schema[word] = inner(value)
    else {
      options.spend(word.length + (JSON.stringify(value) ?? '').length)
      schema[word] = value
    }
  }
  return options.isOld ? inNewDialect(schema, node) : schema
}

function mapped(value: Node, change: (value: unknown) => Node): Record<string, Node> {
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, change(one)]))
}

/** OpenAPI 3.0 has words of its own for null and for bounds that are left out themselves. */
function inNewDialect(schema: Node, { nullable }: Node): Node {
  const { exclusiveMinimum, exclusiveMaximum, minimum, maximum, ...rest } = schema
  return {
    ...rest,
    ...(nullable === true && typeof rest.type === 'string' && { type: [rest.type, 'null'] }),
    ...bound('minimum', 'exclusiveMinimum', minimum, exclusiveMinimum),
    ...bound('maximum', 'exclusiveMaximum', maximum, exclusiveMaximum),
  }
}

function bound(plain: string, exclusive: string, limit: unknown, isExclusive: unknown): Node {
  if (typeof isExclusive === 'number')
    return { ...(limit !== undefined && { [plain]: limit }), [exclusive]: isExclusive }
  return limit === undefined ? {} : { [isExclusive === true ? exclusive : plain]: limit }
}

/** As a declaration has it: each property says for itself that it is needed. */
export function withMarks(schema: Node): Node {
  const { required, ...rest } = schema
  if (!Array.isArray(required)) return rest
  if (!isRecord(rest.properties)) return rest
  const entries = Object.entries(rest.properties as Record<string, Node>)
  const marked = entries.map(([name, one]) => [name, required.includes(name) ? { ...one, required: true } : one])
  return { ...rest, properties: Object.fromEntries(marked) }
}

/** Whether a value of it is one text in an address: no list and no object. */
export function isScalar(schema: Node): boolean {
  const types = [schema.type].flat().filter(type => type !== 'null')
  if (types.length > 0 && types[0] !== undefined) return types.every(type => SCALARS.has(String(type)))
  return Array.isArray(schema.enum) || !('properties' in schema || 'items' in schema)
}

const SCALARS = new Set(['string', 'number', 'integer', 'boolean'])
