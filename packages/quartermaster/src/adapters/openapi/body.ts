import { nameOf } from './names.ts'
import { isRecord, type Node, Unmappable } from './node.ts'
import { exampleOf } from './parameters.ts'
import { isScalar, type Schemas } from './schema.ts'

/** What is sent, and the parameters that it is made of. */
export interface MappedBody {
  /** As `with` of the declaration has it. */
  readonly body: Node
  readonly parameters: readonly BodyParameter[]
  /** What of it is left out. */
  readonly notes?: readonly string[]
}

export interface BodyParameter {
  readonly name: string
  readonly schema: Node
  readonly isRequired: boolean
  readonly example: unknown
}

export interface BodyOptions extends Schemas {
  /** In upper case. */
  readonly method: string
  /** A name that no parameter has yet. */
  free(name: string): string
}

/** The body, where there is one that can be sent, and what is to be said of one that is left out. */
export interface FoundBody {
  readonly body?: MappedBody | undefined
  readonly notes: readonly string[]
}

/** These are nothing without their body, whether or not a document says so. */
const SENDING = new Set(['POST', 'PUT', 'PATCH'])

/** The body of an operation. Throws `Unmappable` for one that is needed and cannot be written. */
export function bodyOf(requestBody: unknown, options: BodyOptions): FoundBody {
  const { method, references } = options
  const node = references.follow(requestBody)
  const types = isRecord(node.content) ? Object.keys(node.content) : []
  if (types.length === 0 && node.required !== true) return { notes: [] }
  const isReading = method === 'GET' || method === 'HEAD'
  const isRequired = typeof node.required === 'boolean' ? node.required : SENDING.has(method)
  const body = isReading ? undefined : mappedBody(node, { types, isRequired, options })
  if (body) return { body, notes: body.notes ?? [] }
  const why = isReading
    ? `a ${method} has none here`
    : `is ${types.join(' or ') || 'of no type'}; JSON, forms and texts can be sent`
  if (isRequired) throw new Unmappable(isReading ? `It needs a body, and ${why}.` : `Its body ${why}.`)
  return { notes: [`Left out: its body, ${isReading ? 'as' : 'which'} ${why}.`] }
}

interface BodyFacts {
  readonly types: readonly string[]
  readonly isRequired: boolean
  readonly options: BodyOptions
}

function mappedBody(node: Node, { types, isRequired, options }: BodyFacts): MappedBody | undefined {
  const content = isRecord(node.content) ? node.content : {}
  const json =
    types.find(type => /^application\/(?:[\w.+-]+\+)?json\b/i.test(type)) ?? types.find(type => type === '*/*')
  if (json !== undefined) return jsonBody(content[json], isRequired, options)
  const form = types.find(type => /^application\/x-www-form-urlencoded\b/i.test(type))
  if (form !== undefined) return formBody(content[form], options)
  const text = types.find(type => /^text\//i.test(type))
  return text === undefined ? undefined : textBody(text, isRequired, options)
}

function jsonBody(media: unknown, isRequired: boolean, options: BodyOptions): MappedBody {
  const given = isRecord(media) ? media : {}
  const schema = merged(options.plain(given.schema))
  const example = exampleOf(given, options)
  // What is needed inside of a body that is not needed itself is needed only with it.
  const isWhole = isOpen(schema) || (!isRequired && neededIn(schema).length > 0)
  const fields = isWhole ? undefined : fieldsOf(schema, { example, options })
  if (!fields) {
    const name = options.free('body')
    return { body: { json: `{${name}}` }, parameters: [{ name, schema, isRequired, example }] }
  }
  return { body: { json: templateOf(fields) }, parameters: fields }
}

function formBody(media: unknown, options: BodyOptions): MappedBody {
  const given = isRecord(media) ? media : {}
  const fields = fieldsOf(merged(options.plain(given.schema)), { example: exampleOf(given, options), options })
  const odd = fields.filter(({ schema }) => !isScalar(schema) && schema.type !== 'array')
  const needed = odd.find(one => one.isRequired)
  if (needed) throw new Unmappable(`The field "${needed.field}" of its form is an object, which no form has.`)
  const sent = fields.filter(one => !odd.includes(one))
  const notes = odd.map(({ field }) => `Left out: the field "${field}" of its form, an object, which no form has.`)
  return { body: { form: templateOf(sent) }, parameters: sent, notes }
}

function textBody(type: string, isRequired: boolean, { free }: BodyOptions): MappedBody {
  const name = free('body')
  return {
    body: { text: `{${name}}`, type },
    parameters: [{ name, schema: { type: 'string' }, isRequired, example: undefined }],
  }
}

interface Field extends BodyParameter {
  readonly field: string
}

const templateOf = (fields: readonly Field[]) =>
  Object.fromEntries(fields.map(({ field, name }) => [field, `{${name}}`]))

/** Whether it takes more than the fields it names, so that it is asked for as a whole. */
function isOpen(schema: Node): boolean {
  if (!isRecord(schema.properties) || Object.keys(schema.properties).length === 0) return true
  return (
    ['anyOf', 'oneOf', 'allOf', 'if', 'patternProperties'].some(word => word in schema) ||
    isRecord(schema.additionalProperties)
  )
}

function neededIn({ required, properties }: Node): string[] {
  const known = isRecord(properties) ? properties : {}
  return Array.isArray(required) ? required.filter(name => Object.hasOwn(known, name)) : []
}

function fieldsOf(schema: Node, { example, options }: { example: unknown; options: BodyOptions }): Field[] {
  const examples = isRecord(example) ? example : {}
  const needed = neededIn(schema)
  return Object.entries((schema.properties ?? {}) as Record<string, Node>).map(([field, one]) => ({
    field,
    name: options.free(nameOf(field)),
    schema: one,
    isRequired: needed.includes(field),
    example: Object.hasOwn(examples, field) ? examples[field] : undefined,
  }))
}

/** Parts that are all to hold, as one object. */
function merged(schema: Node): Node {
  const parts = Array.isArray(schema.allOf) ? (schema.allOf as Node[]).map(merged) : []
  if (parts.length === 0 || parts.some(part => !isRecord(part.properties) || 'anyOf' in part || 'oneOf' in part))
    return schema
  const { allOf: _allOf, ...own } = schema
  const all = [...parts, own]
  const properties = all.flatMap(part => Object.entries((part.properties ?? {}) as Node))
  const required = all.flatMap(part => (Array.isArray(part.required) ? part.required : []))
  return { type: 'object', ...own, required, properties: Object.fromEntries(properties) }
}
