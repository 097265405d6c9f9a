import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import type { Issue, JsonSchema } from '../../contracts/index.ts'
import type { FromJsonSchema } from './infer-json-schema.ts'

/** A validator of any library that also describes itself as JSON Schema (zod, arktype, …). */
export type DescribedSchema = StandardSchemaV1 & StandardJSONSchemaV1

/** A validator that cannot describe itself (valibot, …), with its JSON Schema beside it. */
export interface PairedSchema<S extends StandardSchemaV1 = StandardSchemaV1> {
  schema: S
  jsonSchema: JsonSchema
}

/** How a tool may say what it takes and gives. */
export type SchemaLike = DescribedSchema | PairedSchema | JsonSchema

/** What a handler receives: the value after the schema's own defaults and transforms. */
export type Parsed<S> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : S extends PairedSchema<infer P>
    ? StandardSchemaV1.InferOutput<P>
    : FromJsonSchema<S>

/** What a handler may return where this schema describes the output. */
export type Unparsed<S> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<S>
  : S extends PairedSchema<infer P>
    ? StandardSchemaV1.InferInput<P>
    : FromJsonSchema<S>

/** What a check found; of what is wrong only as much as somebody reads. */
export type Validated = { ok: true; value: unknown } | { ok: false; issues: Issue[] }
export type Validate = (value: unknown) => Validated | Promise<Validated>

/** Knows JSON Schema. `check` is cheap and happens when definitions load; `compile` happens on first use. */
export interface SchemaCompiler {
  /** What is wrong with the schema itself: unknown types, remote references, too large, too deep. */
  check(schema: JsonSchema): Issue[]
  /**
   * The schema in words that are known here, for one that someone else wrote: of an older draft, or with patterns that
   * nothing here understands. Those are left out, for the author's own check to judge by.
   */
  relax(schema: JsonSchema): JsonSchema
  /** The same without the parts that are still wrong, and what those are. It accepts all that the given schema does. */
  accept(schema: JsonSchema): { readonly schema: JsonSchema; readonly unchecked: readonly Issue[] }
  /** A validator that reports every issue. Equal schemas share one. Throws `DEFINITION_INVALID` on a schema that `check` refuses. */
  compile(schema: JsonSchema, side?: SchemaSide): (value: unknown) => Validated
}

/** What a tool gives may be far larger than what it takes, so its patterns are matched up to a length. */
export type SchemaSide = 'input' | 'output'
