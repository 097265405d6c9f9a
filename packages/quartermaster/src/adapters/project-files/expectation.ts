import type { JsonSchema } from '../../contracts/index.ts'
import type { Path } from './fault.ts'

/** The part of a schema that describes what stands at a path. */
export function schemaAt(schema: JsonSchema, path: Path): JsonSchema | undefined {
  return path.reduce<JsonSchema | undefined>(step, schema)
}

/** The property names an object schema knows. */
export function knownKeys(schema: JsonSchema | undefined): string[] {
  return Object.keys(asSchema(schema?.['properties']) ?? {})
}

/** What a schema asks for, in words: `a whole number from 1 to 100`. */
export function expectation(schema: JsonSchema | undefined): string {
  if (!schema) return 'something else'
  if (Array.isArray(schema['enum'])) return `one of ${schema['enum'].map(value => JSON.stringify(value)).join(', ')}`
  if ('const' in schema) return JSON.stringify(schema['const'])
  if (Array.isArray(schema['anyOf'])) return schema['anyOf'].map(one => expectation(asSchema(one))).join(' or ')
  switch (schema['type']) {
    case 'integer':
      return `a whole number${range(schema['minimum'], schema['maximum'])}`
    case 'number':
      return `a number${range(schema['minimum'], schema['maximum'])}`
    case 'boolean':
      return 'true or false'
    case 'string':
      return `text${length(schema['minLength'], schema['maxLength'])}`
    case 'array':
      return 'a list'
    case 'object':
      return 'an object'
    default:
      return 'something else'
  }
}

function step(schema: JsonSchema | undefined, key: string | number): JsonSchema | undefined {
  if (!schema) return undefined
  if (typeof key === 'number') return asSchema(schema['items'])
  const properties = asSchema(schema['properties'])
  if (properties && Object.hasOwn(properties, key)) return asSchema(properties[key])
  return asSchema(schema['additionalProperties'])
}

function asSchema(value: unknown): JsonSchema | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonSchema) : undefined
}

function range(minimum: unknown, maximum: unknown): string {
  return typeof minimum === 'number' && typeof maximum === 'number' ? ` from ${minimum} to ${maximum}` : ''
}

function length(minimum: unknown, maximum: unknown): string {
  if (typeof maximum === 'number') return ` of ${typeof minimum === 'number' ? minimum : 0} to ${maximum} characters`
  return typeof minimum === 'number' ? ' that is not empty' : ''
}
