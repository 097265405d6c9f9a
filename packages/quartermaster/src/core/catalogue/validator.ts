import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonSchema } from '../../contracts/index.ts'
import { type FoundIssue, fewIssues, isLibraryText, issueSentence } from '../kernel/index.ts'
import { describeSchema, isPaired, isStandardSchema } from './describe-schema.ts'
import type { SchemaCompiler, SchemaLike, SchemaSide, Validate, Validated } from './schema.ts'

/** The check that belongs to a schema: the library's own, or a compiled JSON Schema. */
export function validatorOf(schema: SchemaLike, side: SchemaSide, compiler: SchemaCompiler): Validate {
  const standard = isPaired(schema) ? schema.schema : schema
  if (!isStandardSchema(standard)) return lazyValidator(schema as JsonSchema, side, compiler)
  return standardValidator(
    standard,
    side === 'input' ? lazyValidator(describeSchema(schema, side), side, compiler) : undefined,
  )
}

/** `described` checks a value by the JSON Schema, so that each library's faults are told in the same words. */
function standardValidator({ '~standard': standard }: StandardSchemaV1, described?: Lazy): Validate {
  return value => {
    const result = standard.validate(value)
    return result instanceof Promise
      ? result.then(checked => toValidated(checked, value, described))
      : toValidated(result, value, described)
  }
}

function toValidated(result: StandardSchemaV1.Result<unknown>, value: unknown, described?: Lazy): Validated {
  if (!result.issues) return { ok: true, value: result.value }
  const found = result.issues.map(toFound)
  const plain = described && found.some(isLibraryText) ? described(value) : undefined
  if (!plain || plain.ok) return { ok: false, issues: fewIssues(found) }
  const reworded = found.flatMap(issue => {
    const same = isLibraryText(issue) ? plain.issues.filter(one => isAround(one.path, issue.path)) : []
    return same.length > 0 ? same : [issue]
  })
  return { ok: false, issues: fewIssues([...new Map(reworded.map(one => [JSON.stringify(one), one])).values()]) }
}

/** Whether one of the two paths leads to the other. */
function isAround(one: readonly PropertyKey[], other: readonly PropertyKey[]): boolean {
  return one.slice(0, other.length).every((key, index) => String(key) === String(other[index]))
}

function toFound(issue: StandardSchemaV1.Issue): FoundIssue {
  const path = (issue.path ?? []).map(segment => (typeof segment === 'object' ? segment.key : segment))
  return { ...issue, path, message: issueSentence(issue) }
}

type Lazy = (value: unknown) => Validated

/** Compiled on the first call: of ten thousand tools an agent uses a handful, and compiling costs a hundred times a check. */
function lazyValidator(schema: JsonSchema, side: SchemaSide, compiler: SchemaCompiler): Lazy {
  let compiled: ((value: unknown) => Validated) | undefined
  return value => {
    compiled ??= compiler.compile(schema, side)
    return compiled(value)
  }
}
