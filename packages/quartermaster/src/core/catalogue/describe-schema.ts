import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonSchema } from '../../contracts/index.ts'
import type { DescribedSchema, PairedSchema, SchemaLike } from './schema.ts'

/** Whether this is a validator of some library rather than a JSON Schema document. */
export function isStandardSchema(schema: unknown): schema is StandardSchemaV1 {
  return (typeof schema === 'object' || typeof schema === 'function') && schema !== null && '~standard' in schema
}

export function isPaired(schema: SchemaLike): schema is PairedSchema {
  return !isStandardSchema(schema) && isStandardSchema((schema as { schema?: unknown }).schema)
}

function isDescribed(schema: StandardSchemaV1): schema is DescribedSchema {
  return 'jsonSchema' in schema['~standard']
}

/** The JSON Schema of anything a definition may use as a schema. Throws when the library cannot say. */
export function describeSchema(schema: SchemaLike, side: 'input' | 'output'): JsonSchema {
  if (isPaired(schema)) return schema.jsonSchema
  if (!isStandardSchema(schema)) return schema
  if (!isDescribed(schema)) {
    const { vendor } = schema['~standard']
    throw new TypeError(`a schema of ${vendor} does not carry JSON Schema; write { schema, jsonSchema } instead`)
  }
  const { $schema: _dialect, ...described } = schema['~standard'].jsonSchema[side]({ target: 'draft-2020-12' })
  return described
}
