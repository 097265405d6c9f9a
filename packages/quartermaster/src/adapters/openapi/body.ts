import { isRecord, type Node, Unmappable } from './node.ts'
import { exampleOf, freeOf, nameOf } from './parameters.ts'
import { isScalar, type Schemas } from './schema.ts'

/** What is sent, and the parameters that it is made of. */
export interface MappedBody {
  /** As `with` of the declaration has it. */
  readonly body: Node
  readonly parameters: readonly BodyParameter[]
}

export interface BodyParameter {
  readonly name: string
  readonly schema: Node
  readonly isRequired: boolean
  readonly example: unknown
}

export interface BodyOptions extends Schemas {
  /** Names that parameters have already. */
  readonly names: Set<string>
}

/** The body of an operation. Throws `Unmappable` for one that is needed and cannot be written. */
export function bodyOf(requestBody: unknown, options: BodyOptions): MappedBody | undefined {
  if (requestBody === undefined) return undefined
  const node = options.references.follow(requestBody)
  const content = isRecord(node.content) ? node.content : {}
  const types = Object.keys(content)
  const isRequired = node.required === true
  const json =
    types.find(type => /^application\/(?:[\w.+-]+\+)?json\b/i.test(type)) ?? types.find(type => type === '*/*')
  if (json !== undefined) return jsonBody(content[json], isRequired, options)
  const form = types.find(type => /^application\/x-www-form-urlencoded\b/i.test(type))
  if (form !== undefined) return formBody(content[form], isRequired, options)
  const text = types.find(type => /^text\//i.test(type))
  if (text !== undefined) return textBody(text, isRequired, options)
  if (!isRequired) return undefined
  throw new Unmappable(`Its body is ${types.join(' or ') || 'of no type'}; JSON, forms and texts can be sent.`)
}

function jsonBody(media: unknown, isRequired: boolean, options: BodyOptions): MappedBody {
  const given = isRecord(media) ? media : {}
  const schema = merged(options.plain(given.schema))
  const example = exampleOf(given, options)
  const fields = isOpen(schema) ? undefined : fieldsOf(schema, { isRequired, example, options })
  if (!fields) {
    const name = freeOf('body', options.names)
    return { body: { json: `{${name}}` }, parameters: [{ name, schema, isRequired, example }] }
  }
  return { body: { json: templateOf(fields) }, parameters: fields }
}

function formBody(media: unknown, isRequired: boolean, options: BodyOptions): MappedBody {
  const given = isRecord(media) ? media : {}
  const fields = fieldsOf(merged(options.plain(given.schema)), {
    isRequired,
    example: exampleOf(given, options),
    options,
  })
  const odd = fields.find(({ schema }) => !isScalar(schema) && schema.type !== 'array')
  if (odd) throw new Unmappable(`The field "${odd.field}" of its form is an object, which no form has.`)
  return { body: { form: templateOf(fields) }, parameters: fields }
}

function textBody(type: string, isRequired: boolean, { names }: BodyOptions): MappedBody {
  const name = freeOf('body', names)
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

function fieldsOf(
  schema: Node,
  { isRequired, example, options }: { isRequired: boolean; example: unknown; options: BodyOptions },
): Field[] {
  const examples = isRecord(example) ? example : {}
  const needed = Array.isArray(schema.required) ? schema.required : []
  return Object.entries((schema.properties ?? {}) as Record<string, Node>).map(([field, one]) => ({
    field,
    name: freeOf(nameOf(field), options.names),
    schema: one,
    isRequired: isRequired && needed.includes(field),
    example: examples[field],
  }))
}

/** Parts that are all to hold, as one object. */
function merged(schema: Node): Node {
  const parts = Array.isArray(schema.allOf) ? (schema.allOf as Node[]).map(merged) : []
  if (parts.length === 0 || parts.some(part => !isRecord(part.properties) || 'anyOf' in part || 'oneOf' in part))
    return schema
  const { allOf: _allOf, ...own } = schema
  const all = [...parts, own]
  const properties = all.map(part => (part.properties ?? {}) as Node)
  const required = all.flatMap(part => (Array.isArray(part.required) ? part.required : []))
  return { type: 'object', ...own, required, properties: Object.assign({}, ...properties) }
}
