import type { JsonSchema } from '../../contracts/index.ts'

/** A chain of references longer than this is a circle. */
const DEEPEST = 16

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

/** A schema with all that it refers to and all of its alternatives. */
export function alternatives(root: JsonSchema, schema: JsonSchema, depth = 0): JsonSchema[] {
  if (depth > DEEPEST) return []
  const referred = typeof schema.$ref === 'string' ? lookUp(root, schema.$ref) : undefined
  const branches = [schema.anyOf, schema.oneOf, schema.allOf]
    .flatMap(list => (Array.isArray(list) ? list : []))
    .filter(isSchema)
  return [
    schema,
    ...[...(referred ? [referred] : []), ...branches].flatMap(each => alternatives(root, each, depth + 1)),
  ]
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
