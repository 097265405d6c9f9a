import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Issue, JsonSchema } from '../../contracts/index.ts'
import { isPaired, isStandardSchema } from './describe-schema.ts'
import type { SchemaCompiler, SchemaLike, Validate, Validated } from './schema.ts'

/** The check that belongs to a schema: the library's own, or a compiled JSON Schema. */
export function validatorOf(schema: SchemaLike, compiler: SchemaCompiler): Validate {
  if (isPaired(schema)) return standardValidator(schema.schema)
  if (isStandardSchema(schema)) return standardValidator(schema)
  return lazyValidator(schema, compiler)
}

function standardValidator(schema: StandardSchemaV1): Validate {
  const standard = schema['~standard']
  return value => {
    const result = standard.validate(value)
    return result instanceof Promise ? result.then(toValidated) : toValidated(result)
  }
}

function toValidated(result: StandardSchemaV1.Result<unknown>): Validated {
  return result.issues ? { ok: false, issues: result.issues.map(toIssue) } : { ok: true, value: result.value }
}

function toIssue(issue: StandardSchemaV1.Issue): Issue {
  const path = (issue.path ?? []).map(segment => (typeof segment === 'object' ? segment.key : segment))
  return { path: path.map(key => (typeof key === 'symbol' ? String(key) : key)), message: issue.message }
}

/** Compiled on the first call: of ten thousand tools an agent uses a handful, and compiling costs a hundred times a check. */
function lazyValidator(schema: JsonSchema, compiler: SchemaCompiler): Validate {
  let compiled: ((value: unknown) => Validated) | undefined
  return value => {
    compiled ??= compiler.compile(schema)
    return compiled(value)
  }
}
