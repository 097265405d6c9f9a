import { type JsonSchema } from '../../contracts/index.ts'
import { isRecord } from './json.ts'

/** The schemas that may describe a property, through references and alternatives. */
export function schemasAt(root: JsonSchema, schemas: readonly JsonSchema[], key: string): JsonSchema[] {
  return schemas.flatMap(schema => alternatives(root, schema)).flatMap(schema => propertySchemas(schema, key))
}

/** The JSON types that a place accepts, or undefined where it accepts any. */
export function typesAt(root: JsonSchema, schemas: readonly JsonSchema[]): Set<string> | undefined {
  const types = schemas.flatMap(schema => alternatives(root, schema)).flatMap(typesOf)
  return types.length === 0 ? undefined : new Set(types)
}

export function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value
}

/** A schema with everything it refers to and all its alternatives, each once. */
export function alternatives(root: JsonSchema, schema: JsonSchema): JsonSchema[] {
  const found = new Set<JsonSchema>()
  const open = [schema]
  for (let next = open.shift(); next; next = open.shift()) {
    // A schema may refer to itself, and a hostile one many times over.
    if (found.has(next)) continue
    found.add(next)
    const branches = [...listAt(next, 'anyOf'), ...listAt(next, 'oneOf'), ...listAt(next, 'allOf')]
    open.unshift(...[referredBy(root, next) ?? [], branches].flat())
  }
  return [...found]
}

export function referredBy(root: JsonSchema, { $ref }: JsonSchema): JsonSchema | undefined {
  return typeof $ref === 'string' ? lookUp(root, $ref) : undefined
}

export function listAt(schema: JsonSchema, keyword: 'anyOf' | 'oneOf' | 'allOf'): JsonSchema[] {
  const list = schema[keyword]
  return Array.isArray(list) ? list.filter(isRecord) : []
}

export interface SchemaField {
  readonly key: string
  readonly schema: JsonSchema
  /** Whether every alternative requires it. */
  readonly isRequired: boolean
}

/** The fields of an object schema, through references and alternatives, in order. */
export function fieldsOf(root: JsonSchema, schema: JsonSchema): SchemaField[] {
  const all = new Map<string, JsonSchema[]>()
  for (const { properties } of alternatives(root, schema)) {
    for (const [key, one] of Object.entries(isRecord(properties) ? properties : {}))
      all.set(key, [...(all.get(key) ?? []), isRecord(one) ? one : {}])
  }
  const required = requiredBy(root, schema)
  return [...all].map(([key, schemas]) => ({ key, schema: eitherOf(schemas), isRequired: required.has(key) }))
}

/** Where alternatives disagree about a field, any of their schemas applies. */
function eitherOf(schemas: readonly JsonSchema[]): JsonSchema {
  const [first = {}, ...others] = new Map(schemas.map(one => [JSON.stringify(one), one])).values()
  return others.length === 0 ? first : { anyOf: [first, ...others] }
}

/** The fields that every alternative requires. Results are kept, because a schema may be referred to many times. */
function requiredBy(
  root: JsonSchema,
  schema: JsonSchema,
  known = new Map<JsonSchema, ReadonlySet<unknown>>(),
): ReadonlySet<unknown> {
  const before = known.get(schema)
  if (before) return before
  // A cycle requires nothing more than what is outside of it.
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
    (value, step) => (isRecord(value) && Object.hasOwn(value, step) ? value[step] : undefined),
    root,
  )
  return isRecord(found) ? found : undefined
}

function propertySchemas(schema: JsonSchema, key: string): JsonSchema[] {
  const named =
    isRecord(schema.properties) && Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined
  return [named ?? schema.additionalProperties].filter(isRecord)
}

function typesOf(schema: JsonSchema): string[] {
  const { type, enum: values } = schema
  const named = [type].flat().filter(each => typeof each === 'string')
  if (named.length > 0) return named.map(each => (each === 'integer' ? 'number' : each))
  if (Array.isArray(values)) return values.map(typeOf)
  return 'const' in schema ? [typeOf(schema.const)] : []
}

/** An argument that a client repeats in a header, for proxies in between. */
export interface MirroredParameter {
  /** As the schema marks it: `Region`, for the header `Mcp-Param-Region`. */
  readonly header: string
  readonly path: readonly string[]
  readonly isNumber: boolean
}

/**
 * The properties that an input schema marks with `x-mcp-header`, at any depth (MCP 2026-07-28, "Custom Headers from Tool
 * Parameters"). Only those reached through `properties` alone: anything else has no single place in the arguments.
 */
export function mirroredParameters(schema: unknown, path: readonly string[] = []): MirroredParameter[] {
  if (!isRecord(schema)) return []
  const { 'x-mcp-header': header, type, properties } = schema
  const isMarked = path.length > 0 && typeof header === 'string' && TOKEN.test(header)
  const own = isMarked ? [{ header, path, isNumber: type === 'integer' || type === 'number' }] : []
  const inner = isRecord(properties) ? Object.entries(properties) : []
  return [...own, ...inner.flatMap(([name, property]) => mirroredParameters(property, [...path, name]))]
}

/** The header text for these arguments. A missing or structured value has none. */
export function mirroredText({ path }: Pick<MirroredParameter, 'path'>, input: unknown): string | undefined {
  let value = input
  for (const key of path) {
    if (!isRecord(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return plainText(value)
}

/** A header's name (RFC 9110 §5.1). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** An integer that JavaScript cannot hold exactly would be repeated as another one. */
function plainText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  const isNumber = typeof value === 'number' && Number.isFinite(value)
  return isNumber && (!Number.isInteger(value) || Number.isSafeInteger(value)) ? String(value) : undefined
}
