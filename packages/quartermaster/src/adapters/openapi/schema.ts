import { isRecord, type Node, type References, textIn, Unmappable } from './api-document.ts'

/** Deeper than people describe what they send. Below it anything goes. */
const DEEPEST = 8

/** A declaration has at most 256 KiB. References make a small document large: what they lead to counts each time. */
export const SCHEMA_CHARACTERS = 200_000
/** How far a line of the file is moved in for each schema around it, at the least, and what else it has. */
const INDENT = 2
const PUNCTUATION = 3

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
const LISTS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties'])
const SCHEMAS: ReadonlySet<string> = new Set([
  'items',
  'additionalProperties',
  'not',
  'contains',
  'propertyNames',
  'if',
  'then',
  'else',
])

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
  const unsentIn = createUnsent(references)
  return { references, plain: given => plainSchema(given, { references, isOld, spend, unsentIn }) }
}

/** Only what a schema says itself, for a reader of many operations. */
export function outerSchemas(references: References): Schemas {
  return { references, plain: given => references.follow(given) }
}

interface Plain {
  readonly references: References
  readonly isOld: boolean
  /** Called with the length of each written part. */
  spend(characters: number): void
  /** Names of properties that only the server sets. */
  unsentIn(node: Node): readonly string[]
}

interface Place {
  /** The schemas around it. */
  readonly within: readonly Node[]
  /** Names of properties that only the server sets, where others say them for the same object. */
  readonly unsent: ReadonlySet<string>
}

const OUTSIDE: Place = { within: [], unsent: new Set() }

function plainSchema(given: unknown, options: Plain, { within, unsent: around }: Place = OUTSIDE): Node {
  const node = options.references.follow(given)
  const line = (text: string) => options.spend(text.length + PUNCTUATION + INDENT * within.length)
  line('')
  // A recursive schema accepts any value from here on.
  if (within.length >= DEEPEST || within.includes(node)) return {}
  const unsent = new Set([...around, ...options.unsentIn(node)])
  const below = [...within, node]
  const inner = (value: unknown) => plainSchema(value, options, { within: below, unsent: OUTSIDE.unsent })
  // It speaks of the same object.
  const beside = (value: unknown) => plainSchema(value, options, { within: below, unsent })
  const schema: Record<string, unknown> = {}
  for (const [word, value] of Object.entries(node)) {
    if (DROPPED.has(word) || word.startsWith('x-')) continue
    if (word === 'format' && !FORMATS.has(String(value))) continue
    line(word)
    if (LISTS.has(word) && Array.isArray(value)) schema[word] = value.map(word === 'prefixItems' ? inner : beside)
    else if (MAPS.has(word) && isRecord(value)) {
      const entries = Object.entries(value).filter(([name]) => word !== 'properties' || !unsent.has(name))
      for (const [name] of entries) line(name)
      schema[word] = Object.fromEntries(entries.map(([name, one]) => [name, inner(one)]))
    } else if (word === 'required' && Array.isArray(value)) schema[word] = value.filter(name => !unsent.has(name))
    else if (SCHEMAS.has(word) && isRecord(value)) schema[word] = inner(value)
    else {
      options.spend((JSON.stringify(value) ?? '').length)
      schema[word] = value
    }
  }
  if (options.isOld) return inNewDialect(schema, node)
  // Since 3.1 what stands beside a reference counts.
  const description = isRecord(given) && given !== node ? textIn(given, 'description') : undefined
  if (description === undefined) return schema
  options.spend(description.length)
  return { ...schema, description }
}

/** Looks for `readOnly` in a schema and in those that hold for the same object; in each once, as many lead to the same. */
function createUnsent(references: References): Plain['unsentIn'] {
  const known = new Map<Node, readonly string[]>()
  const isUnsent = (one: unknown) =>
    isRecord(one) && (one.readOnly === true || references.follow(one).readOnly === true)
  return function unsentIn(node: Node): readonly string[] {
    const before = known.get(node)
    if (before) return before
    // A recursive schema adds nothing to itself.
    known.set(node, [])
    const own = isRecord(node.properties) ? Object.entries(node.properties) : []
    const parts = Array.isArray(node.allOf) ? node.allOf.map(part => references.follow(part)) : []
    const names = own.filter(([, one]) => isUnsent(one)).map(([name]) => name)
    const all: readonly string[] = [...new Set([...names, ...parts.flatMap(unsentIn)])]
    known.set(node, all)
    return all
  }
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

export interface SchemaChecks {
  /** Whether anything can be checked by it. */
  isSound(schema: Node): boolean
  /** Whether a value is what a schema wants. */
  fits(schema: Node, value: unknown): boolean
}

/** A schema without what is wrong in it and can be done without, and what is to be said of that. */
export function tolerantSchema(given: Node, checks: SchemaChecks): { readonly schema: Node; readonly notes: string[] } {
  const notes: string[] = []
  const fixed = (value: unknown): unknown => (isRecord(value) ? fix(value) : value)
  const isPattern = (pattern: string): boolean => {
    const isKnown = checks.isSound({ pattern })
    if (!isKnown) notes.push(`Left out: the pattern "${pattern}", which is no regular expression that is known here.`)
    return isKnown
  }
  const fix = (node: Node): Node => {
    const schema: Record<string, unknown> = {}
    for (const [word, value] of Object.entries(node)) {
      if (word === 'pattern' && typeof value === 'string' && !isPattern(value)) continue
      if (LISTS.has(word) && Array.isArray(value)) schema[word] = value.map(fixed)
      else if (MAPS.has(word) && isRecord(value)) {
        const entries = Object.entries(value).filter(([name]) => word !== 'patternProperties' || isPattern(name))
        schema[word] = Object.fromEntries(entries.map(([name, one]) => [name, fixed(one)]))
      } else if (SCHEMAS.has(word)) schema[word] = fixed(value)
      else if (word === 'enum' && Array.isArray(value)) schema[word] = [...new Set(value.map(one => typed(one, node)))]
      else schema[word] = word === 'default' || word === 'const' ? typed(value, node) : value
    }
    if (!('default' in schema)) return schema
    const { default: value, ...rest } = schema
    if (checks.fits(rest, value)) return schema
    notes.push(`Left out: the default ${JSON.stringify(value)}, which its own schema does not take.`)
    return rest
  }
  return { schema: fix(given), notes }
}

/** A value as the declared type writes it: YAML and people take "1" for 1, and the other way round. */
function typed(value: unknown, { type }: Node): unknown {
  if (type === 'string' && (typeof value === 'number' || typeof value === 'boolean')) return String(value)
  if (typeof value !== 'string') return value
  if ((type === 'integer' || type === 'number') && value.trim() !== '' && Number.isFinite(Number(value)))
    return Number(value)
  return type === 'boolean' && /^(?:true|false)$/.test(value) ? value === 'true' : value
}
