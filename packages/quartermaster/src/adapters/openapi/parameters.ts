import { isTransportHeader } from '../../core/kernel/index.ts'
import { freeNames, isRecord, type Node, nameOf, recordsIn, textIn, Unmappable } from './api-document.ts'
import type { FoundOperation } from './operations.ts'
import { isScalar, type Schemas } from './schema.ts'

/** One parameter of an operation and where its value goes. */
export interface MappedParameter {
  /** In the declaration. */
  readonly name: string
  /** Its name in the API. */
  readonly field: string
  readonly place: 'path' | 'query' | 'header'
  readonly schema: Node
  readonly isRequired: boolean
  readonly example: unknown
}

interface MappedParameters {
  readonly parameters: readonly MappedParameter[]
  readonly notes: readonly string[]
}

/** The parameters of the path and of the operation itself. Throws `Unmappable` where one that is needed cannot be sent. */
export function parametersOf({ node, item }: FoundOperation, options: Schemas): MappedParameters {
  const all = [...recordsOf(item, options), ...recordsOf(node, options)]
  // The operation's parameters override those of the path.
  const unique = new Map(all.map(one => [`${one.in} ${one.name}`, one]))
  const notes: string[] = []
  const parameters: MappedParameter[] = []
  const free = freeNames()
  for (const one of unique.values()) {
    const field = String(one.name)
    const why = obstacle(one, options)
    if (why === 'ignored') continue
    if (why !== undefined) {
      if (one.required === true) throw new Unmappable(`Its parameter "${field}" ${why}.`)
      notes.push(`Left out: the parameter "${field}", which ${why}.`)
      continue
    }
    const name = free(nameOf(field))
    parameters.push(mapped(one, { name, field, options }))
  }
  return { parameters, notes }
}

function recordsOf({ parameters }: Node, { references }: Schemas): Node[] {
  return recordsIn(parameters).map(one => references.follow(one))
}

/** Why a value cannot be put there, behind the name of the parameter. */
function obstacle(one: Node, options: Schemas): string | undefined {
  const { in: place, name, style, explode, schema } = one
  if (place === 'header' && /^(?:accept|content-type|authorization)$/i.test(String(name))) return 'ignored'
  if (place === 'cookie') return 'is a cookie, and none are sent'
  if (place !== 'path' && place !== 'query' && place !== 'header') return `is in "${String(place)}", which is no place`
  if (schema === undefined) return 'is written in a content type of its own'
  const { follow } = options.references
  const outer = follow(schema)
  if (isScalar(outer))
    return place === 'header' && isTransportHeader(String(name)) ? 'is a header that is set by itself' : undefined
  const isList = outer.type === 'array' && isScalar(follow(outer.items))
  if (place === 'query' && isList && (style ?? 'form') === 'form' && explode !== false) return undefined
  return 'is a list or an object in a form that is not written here'
}

function mapped(
  one: Node,
  { name, field, options }: { name: string; field: string; options: Schemas },
): MappedParameter {
  const schema = options.plain(one.schema)
  const description = textIn(one, 'description') ?? textIn(schema, 'description')
  return {
    name,
    field,
    place: one.in as MappedParameter['place'],
    schema: { ...schema, ...(description && { description }) },
    isRequired: one.in === 'path' || one.required === true,
    example: exampleOf(one, options),
  }
}

/** The example of a parameter or of its schema. */
function exampleOf(one: Node, { references }: Schemas): unknown {
  if (one.example !== undefined) return one.example
  const [first] = Object.values((one.examples ?? {}) as Node).map(example => references.follow(example))
  if (first?.value !== undefined) return first.value
  const schema = references.follow(one.schema)
  if (schema.example !== undefined) return schema.example
  const [listed] = Array.isArray(schema.examples) ? schema.examples : []
  return listed ?? schema.default
}

/** A request body, and the parameters in it. */
interface MappedBody {
  /** As `with` of the declaration has it. */
  readonly body: Node
  readonly parameters: readonly BodyParameter[]
  /** Notes about omitted parts. */
  readonly notes?: readonly string[]
}

export interface BodyParameter {
  readonly name: string
  readonly schema: Node
  readonly isRequired: boolean
  readonly example: unknown
}

interface BodyOptions extends Schemas {
  /** In upper case. */
  readonly method: string
  /** A name that no parameter has yet. */
  free(name: string): string
}

/** The body, where there is one that can be sent, and what is to be said of one that is left out. */
interface FoundBody {
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
  // Fields required inside an optional body are required only with the body.
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
