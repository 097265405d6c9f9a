import type { JsonSchema } from '../../contracts/index.ts'

/** The schemas that may describe a property, looked up through references and alternatives. */
export function schemasAt(root: JsonSchema, schemas: readonly JsonSchema[], key: string): JsonSchema[] {
  return schemas.flatMap(schema => alternatives(root, schema)).flatMap(schema => propertySchemas(schema, key))
}

/** The JSON types a place accepts, or undefined where it accepts any. */
export function typesAt(root: JsonSchema, schemas: readonly JsonSchema[]): Set<string> | undefined {
  const types = schemas.flatMap(schema => alternatives(root, schema)).flatMap(typesOf)
  return types.length === 0 ? undefined : new Set(types)
}

/** The JSON type of a value, as schemas name it. */
export function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value
}

/** A schema with all that it refers to and all of its alternatives, each once. */
export function alternatives(root: JsonSchema, schema: JsonSchema): JsonSchema[] {
  const found = new Set<JsonSchema>()
  const open = [schema]
  for (let next = open.shift(); next; next = open.shift()) {
    // It may refer to itself, and in hostile hands to itself many times over.
    if (found.has(next)) continue
    found.add(next)
    const branches = [...listAt(next, 'anyOf'), ...listAt(next, 'oneOf'), ...listAt(next, 'allOf')]
    open.unshift(...[referredBy(root, next) ?? [], branches].flat())
  }
  return [...found]
}

/** The schema that a reference in this one leads to. */
export function referredBy(root: JsonSchema, { $ref }: JsonSchema): JsonSchema | undefined {
  return typeof $ref === 'string' ? lookUp(root, $ref) : undefined
}

/** The schemas under a keyword that has several. */
export function listAt(schema: JsonSchema, keyword: 'anyOf' | 'oneOf' | 'allOf'): JsonSchema[] {
  const list = schema[keyword]
  return Array.isArray(list) ? list.filter(isSchema) : []
}

/** What an object may have under one name. */
export interface SchemaField {
  readonly key: string
  readonly schema: JsonSchema
  /** Whether every alternative wants it. */
  readonly isRequired: boolean
}

/** The fields of an object's schema, through references and alternatives, in its order. */
export function fieldsOf(root: JsonSchema, schema: JsonSchema): SchemaField[] {
  const all = new Map<string, JsonSchema[]>()
  for (const { properties } of alternatives(root, schema)) {
    for (const [key, one] of Object.entries(isSchema(properties) ? properties : {}))
      all.set(key, [...(all.get(key) ?? []), isSchema(one) ? one : {}])
  }
  const required = requiredBy(root, schema)
  return [...all].map(([key, schemas]) => ({ key, schema: eitherOf(schemas), isRequired: required.has(key) }))
}

/** Where alternatives say different things of a field, it is any of these. */
function eitherOf(schemas: readonly JsonSchema[]): JsonSchema {
  const [first = {}, ...others] = new Map(schemas.map(one => [JSON.stringify(one), one])).values()
  return others.length === 0 ? first : { anyOf: [first, ...others] }
}

/** What is wanted whichever alternative is chosen. What was looked at is known: it may be referred to many times over. */
function requiredBy(
  root: JsonSchema,
  schema: JsonSchema,
  known = new Map<JsonSchema, ReadonlySet<unknown>>(),
): ReadonlySet<unknown> {
  const before = known.get(schema)
  if (before) return before
  // A circle asks for nothing that is not asked for outside of it.
  known.set(schema, new Set())
  const within = (one: JsonSchema) => requiredBy(root, one, known)
  const referred = referredBy(root, schema)
  const always = [...listAt(schema, 'allOf'), ...(referred ? [referred] : [])].map(within)
  const either = (['anyOf', 'oneOf'] as const).map(keyword => inAll(listAt(schema, keyword).map(within)))
  const own = Array.isArray(schema.required) ? schema.required : []
  const all = new Set([...own, ...always.flatMap(one => [...one]), ...either.flat()])
  known.set(schema, all)
  return all
}

function inAll([first, ...others]: readonly ReadonlySet<unknown>[]): unknown[] {
  return [...(first ?? [])].filter(key => others.every(one => one.has(key)))
}

function lookUp(root: JsonSchema, reference: string): JsonSchema | undefined {
  if (!reference.startsWith('#/')) return undefined
  const steps = reference
    .slice(2)
    .split('/')
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const found = steps.reduce<unknown>(
    (value, step) => (isSchema(value) && Object.hasOwn(value, step) ? value[step] : undefined),
    root,
  )
  return isSchema(found) ? found : undefined
}

function propertySchemas(schema: JsonSchema, key: string): JsonSchema[] {
  const named =
    isSchema(schema.properties) && Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined
  return [named ?? schema.additionalProperties].filter(isSchema)
}

function typesOf(schema: JsonSchema): string[] {
  const { type, enum: values } = schema
  const named = [type].flat().filter(each => typeof each === 'string')
  if (named.length > 0) return named.map(each => (each === 'integer' ? 'number' : each))
  if (Array.isArray(values)) return values.map(typeOf)
  return 'const' in schema ? [typeOf(schema.const)] : []
}

export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
