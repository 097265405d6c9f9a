import type { Issue, JsonSchema } from '../../contracts/index.ts'
import type { Checker } from './ajv.ts'
import { type Dialect, dialectOf } from './dialect.ts'
import { explain, limitIssues } from './explain.ts'
import { plainIssues } from './plain-schema.ts'
import { type StructureLimits, walkSchema } from './schema-walk.ts'

/** Everything that is wrong with a schema. */
export type ExamineSchema = (schema: JsonSchema) => Issue[]

export interface SchemaExaminerOptions {
  readonly limits: StructureLimits
  readonly maxIssues: number
  /** Makes the checker of a dialect's schemas, on the first schema that the walk cannot judge alone. */
  readonly compileMetaSchema: (dialect: Dialect) => Checker
}

export function createSchemaExaminer({ limits, maxIssues, compileMetaSchema }: SchemaExaminerOptions): ExamineSchema {
  const metaSchemas = new Map<Dialect, Checker>()
  const faultsByAjv = (schema: JsonSchema, dialect: Dialect): Issue[] => {
    const checker = metaSchemas.get(dialect) ?? compileMetaSchema(dialect)
    metaSchemas.set(dialect, checker)
    return explain({ errors: checker.find(schema), value: schema, lookup: checker.lookup, maxIssues })
  }
  return schema => {
    const dialect = dialectOf(schema)
    const { unbearable, faults, unjudged, noteworthy } = walkSchema(schema, { limits, judging: dialect === '2020-12' })
    if (unbearable) return [unbearable]
    if (!dialect) return [unknownDialect(schema.$schema)]
    const judged = unjudged ? faultsByAjv(schema, dialect) : faults
    return limitIssues(noteworthy ? [...judged, ...plainIssues(schema, dialect)] : judged, maxIssues)
  }
}

function unknownDialect($schema: unknown): Issue {
  const message = `${JSON.stringify($schema)} is not a dialect we know; use 2020-12 (or leave $schema out) or draft-07.`
  return { path: ['$schema'], message }
}
