import { type StandardJSONSchemaV1, type StandardSchemaV1 } from '@standard-schema/spec'
import { type Issue, type JsonSchema } from '../../contracts/index.ts'
import { type FoundIssue, firstIssues, isLibraryText, issueSentence } from '../kernel/index.ts'

/** A validator of any library that also describes itself as JSON Schema (zod, arktype, …). */
export type DescribedSchema = StandardSchemaV1 & StandardJSONSchemaV1

/** A validator that cannot describe itself (valibot, …), with its JSON Schema. */
export interface PairedSchema<S extends StandardSchemaV1 = StandardSchemaV1> {
  schema: S
  jsonSchema: JsonSchema
}

export type SchemaLike = DescribedSchema | PairedSchema | JsonSchema

/** What a handler receives: the value after the schema's defaults and transforms. */
export type Parsed<S> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : S extends PairedSchema<infer P>
    ? StandardSchemaV1.InferOutput<P>
    : FromJsonSchema<S>

/** What a handler may return for this output schema. */
export type Unparsed<S> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<S>
  : S extends PairedSchema<infer P>
    ? StandardSchemaV1.InferInput<P>
    : FromJsonSchema<S>

/** Result of a validation, with a limited number of issues. */
export type Validated = { ok: true; value: unknown } | { ok: false; issues: Issue[] }
export type Validate = (value: unknown) => Validated | Promise<Validated>

/** JSON Schema support. `check` is cheap and runs on load; `compile` runs on first use. */
export interface SchemaCompiler {
  /** Faults of the schema itself: unknown types, remote references, too large, too deep. */
  check(schema: JsonSchema): Issue[]
  /**
   * Rewrites a foreign schema in known keywords: older drafts are converted, and patterns we do not understand are dropped, so that
   * only the author's server checks them.
   */
  relax(schema: JsonSchema): JsonSchema
  /** `relax`, without the parts that are still invalid, and their issues. The result accepts everything the given schema does. */
  accept(schema: JsonSchema): { readonly schema: JsonSchema; readonly unchecked: readonly Issue[] }
  /**
   * A validator that reports every issue. Equal schemas share one. Throws `DEFINITION_INVALID` on a schema that `check` rejects.
   */
  compile(schema: JsonSchema, side?: SchemaSide): (value: unknown) => Validated
}

/** Outputs may be far larger than inputs, so their patterns are matched only up to a length. */
export type SchemaSide = 'input' | 'output'

/** The validator of a schema: the library's own, or compiled JSON Schema. */
export function validatorOf(schema: SchemaLike, side: SchemaSide, compiler: SchemaCompiler): Validate {
  const standard = isPaired(schema) ? schema.schema : schema
  if (!isStandardSchema(standard)) return lazyValidator(schema as JsonSchema, side, compiler)
  return standardValidator(
    standard,
    side === 'input' ? lazyValidator(describeSchema(schema, side), side, compiler) : undefined,
  )
}

/** `described` validates by JSON Schema, so that the faults of every library are worded alike. */
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
  if (!plain || plain.ok) return { ok: false, issues: firstIssues(found) }
  const reworded = found.flatMap(issue => {
    const same = isLibraryText(issue) ? plain.issues.filter(one => isAround(one.path, issue.path)) : []
    return same.length > 0 ? same : [issue]
  })
  return { ok: false, issues: firstIssues([...new Map(reworded.map(one => [JSON.stringify(one), one])).values()]) }
}

function isAround(one: readonly PropertyKey[], other: readonly PropertyKey[]): boolean {
  return one.slice(0, other.length).every((key, index) => String(key) === String(other[index]))
}

function toFound(issue: StandardSchemaV1.Issue): FoundIssue {
  const path = (issue.path ?? []).map(segment => (typeof segment === 'object' ? segment.key : segment))
  return { ...issue, path, message: issueSentence(issue) }
}

type Lazy = (value: unknown) => Validated

/** Compiles on the first call: an agent uses a handful of ten thousand tools, and compiling costs a hundred times a validation. */
function lazyValidator(schema: JsonSchema, side: SchemaSide, compiler: SchemaCompiler): Lazy {
  let compiled: Lazy | undefined
  return value => {
    compiled ??= compiler.compile(schema, side)
    return compiled(value)
  }
}

/** The type that a JSON Schema literal describes, for common keywords; `unknown` for anything else. */
type FromJsonSchema<S> = S extends { const: infer C }
  ? C
  : S extends { enum: readonly (infer E)[] }
    ? E
    : S extends { type: 'string' }
      ? string
      : S extends { type: 'number' | 'integer' }
        ? number
        : S extends { type: 'boolean' }
          ? boolean
          : S extends { type: 'null' }
            ? null
            : S extends { type: 'array'; items: infer I }
              ? FromJsonSchema<I>[]
              : S extends { type: 'array' }
                ? unknown[]
                : S extends { type: 'object' }
                  ? ObjectFrom<S>
                  : unknown

type ObjectFrom<S> = S extends { properties: infer P extends Record<string, unknown> }
  ? Simplify<
      { [K in keyof P as K extends RequiredOf<S> ? K : never]: FromJsonSchema<P[K]> } & {
        [K in keyof P as K extends RequiredOf<S> ? never : K]?: FromJsonSchema<P[K]>
      }
    >
  : Record<string, unknown>

type RequiredOf<S> = S extends { required: readonly (infer R)[] } ? R : never
type Simplify<T> = { [K in keyof T]: T[K] } & {}

function isStandardSchema(schema: unknown): schema is StandardSchemaV1 {
  return (typeof schema === 'object' || typeof schema === 'function') && schema !== null && '~standard' in schema
}

function isPaired(schema: SchemaLike): schema is PairedSchema {
  return !isStandardSchema(schema) && isStandardSchema((schema as { schema?: unknown }).schema)
}

/**
 * The JSON Schema of a schema of any kind. Throws if the library cannot describe it. Cached per validator, because describing one
 * costs more than the rest of checking a definition.
 */
export function describeSchema(schema: SchemaLike, side: SchemaSide): JsonSchema {
  if (isPaired(schema)) return schema.jsonSchema
  if (!isStandardSchema(schema)) return schema
  const { jsonSchema, vendor } = (schema as DescribedSchema)['~standard']
  if (!jsonSchema)
    throw new TypeError(`a schema of ${vendor} does not carry JSON Schema; write { schema, jsonSchema } instead`)
  const { $schema: _, ...described } = DESCRIBED[side].get(schema) ?? jsonSchema[side]({ target: 'draft-2020-12' })
  DESCRIBED[side].set(schema, described)
  return described
}

const DESCRIBED = { input: new WeakMap<object, JsonSchema>(), output: new WeakMap<object, JsonSchema>() }
