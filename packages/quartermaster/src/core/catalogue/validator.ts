import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonSchema } from '../../contracts/index.ts'
import { type FoundIssue, fewIssues, issueSentence } from '../kernel/index.ts'
import { isPaired, isStandardSchema } from './describe-schema.ts'
import type { SchemaCompiler, SchemaLike, SchemaSide, Validate, Validated } from './schema.ts'

/** The check that belongs to a schema: the library's own, or a compiled JSON Schema. */
export function validatorOf(schema: SchemaLike, side: SchemaSide, compiler: SchemaCompiler): Validate {
  if (isPaired(schema)) return standardValidator(schema.schema)
  if (isStandardSchema(schema)) return standardValidator(schema)
  return lazyValidator(schema, side, compiler)
}

function standardValidator(schema: StandardSchemaV1): Validate {
  const standard = schema['~standard']
  return value => {
    const result = standard.validate(value)
    return result instanceof Promise ? result.then(toValidated) : toValidated(result)
  }
}

function toValidated(result: StandardSchemaV1.Result<unknown>): Validated {
  return result.issues
    ? { ok: false, issues: fewIssues(result.issues.map(toFound)) }
    : { ok: true, value: result.value }
}

function toFound(issue: StandardSchemaV1.Issue): FoundIssue {
  const path = (issue.path ?? []).map(segment => (typeof segment === 'object' ? segment.key : segment))
  return { path, message: issueSentence(issue) }
}

/** Compiled on the first call: of ten thousand tools an agent uses a handful, and compiling costs a hundred times a check. */
function lazyValidator(schema: JsonSchema, side: SchemaSide, compiler: SchemaCompiler): Validate {
  let compiled: ((value: unknown) => Validated) | undefined
  return value => {
    compiled ??= compiler.compile(schema, side)
    return compiled(value)
  }
}
