import { createHash } from 'node:crypto'
import { AppError, type Issue, issueText, type JsonSchema, messageOf } from '../../contracts/index.ts'
import type { SchemaCompiler, SchemaSide, Validated } from '../../core/catalogue/index.ts'
import { canonicalJson, type Digest, MOST_ISSUES } from '../../core/kernel/index.ts'
import { type Checker, compileMetaSchema, compilePlain } from './ajv.ts'
import { explain, limitIssues } from './explain.ts'
import { plainIssues, plainSchema, type SchemaNode } from './plain-schema.ts'
import { acceptSchema, relaxSchema } from './relax.ts'
import { type StructureLimits, walkSchema } from './schema-walk.ts'
import { type Dialect, dialectOf } from './shape.ts'
import { TooManySteps } from './steps.ts'

export interface SchemaCompilerOptions {
  /** The largest schema, in bytes of JSON. Default 128 KiB: a model would not read a longer one. */
  readonly maxBytes?: number
  /** The deepest nesting of a schema. Default 64. */
  readonly maxDepth?: number
  /** How many issues are reported per value or schema. Default 20. */
  readonly maxIssues?: number
  /** How many compiled schemas are cached. Default 2,000. */
  readonly maxCompiled?: number
  readonly digest?: Digest
}

/** The schema compiler over Ajv: 2020-12 and draft-07, no remote references, patterns in linear time. */
export function createSchemaCompiler(options: SchemaCompilerOptions = {}): SchemaCompiler {
  const { maxBytes = 128 * 1024, maxDepth = 64, maxIssues = MOST_ISSUES, maxCompiled = 2000, digest = sha256 } = options
  const examine = createSchemaExaminer({ limits: { maxBytes, maxDepth }, maxIssues, compileMetaSchema })
  const bySchema = new WeakMap<JsonSchema, Compiled['validators']>()
  const byDigest = createRecent<Compiled>(maxCompiled)

  function compiled(key: string, schema: JsonSchema): Compiled {
    const known = byDigest.get(key)
    if (known) return known
    // Looks the checker up each time, so that a validator does not keep evicted compiled code alive.
    const validators: Compiled['validators'] = {
      input: value => validate(compiled(key, schema).checker, { value, maxIssues }),
      output: value => validateOutput(compiled(key, schema).checker, { value, maxIssues }),
    }
    const made = { checker: toChecker(schema), validators }
    byDigest.set(key, made)
    return made
  }
  return {
    check: examine,
    relax: relaxSchema,
    accept: schema => acceptSchema(schema, examine),
    compile(schema, side = 'input') {
      const known = bySchema.get(schema)?.[side]
      if (known) return known
      // Before the digest: an invalid schema may have no JSON.
      refuse(examine(schema))
      const { validators } = compiled(digest(canonicalJson(schema)), schema)
      bySchema.set(schema, validators)
      return validators[side]
    },
  }
}

type Validator = (value: unknown) => Validated

interface Compiled {
  readonly checker: Checker
  readonly validators: Readonly<Record<SchemaSide, Validator>>
}

function toChecker(schema: JsonSchema): Checker {
  try {
    // A copy, so that the schema cannot change under its validator.
    const document: SchemaNode = JSON.parse(JSON.stringify(schema))
    const dialect = dialectOf(document) ?? '2020-12'
    return compilePlain(plainSchema(document, dialect), dialect)
  } catch (cause) {
    throw new AppError('DEFINITION_INVALID', `The schema cannot be compiled: ${messageOf(cause)}`, { cause })
  }
}

function refuse(issues: readonly Issue[]): void {
  if (issues.length === 0) return
  const told = issues.map(issueText).join(' ')
  throw new AppError('DEFINITION_INVALID', `The schema cannot be used. ${told}`, { details: { issues } })
}

interface CheckOptions {
  readonly value: unknown
  readonly maxIssues: number
  readonly skipsLongTexts?: boolean
}

/** A result with texts too long for the patterns, such as a picture, counts as valid where it would otherwise fail. */
function validateOutput(checker: Checker, checking: CheckOptions): Validated {
  const checked = validate(checker, { ...checking, skipsLongTexts: true })
  return checked.ok || !checker.hasSkipped() ? checked : { ok: true, value: checking.value }
}

function validate({ find, lookup }: Checker, { value, maxIssues, skipsLongTexts }: CheckOptions): Validated {
  try {
    const errors = find(value, skipsLongTexts)
    return errors.length === 0
      ? { ok: true, value }
      : { ok: false, issues: explain({ errors, value, lookup, maxIssues }) }
  } catch (error) {
    return { ok: false, issues: [{ path: [], message: uncheckable(error) }] }
  }
}

/** Why a value could not be validated, which counts as invalid. */
function uncheckable(error: unknown): string {
  if (error instanceof TooManySteps) return error.message
  // A self-referring schema follows the value down, and deep nesting overflows the stack.
  if (error instanceof RangeError) return 'The value is nested too deeply to be checked.'
  // Ajv compares objects (const) by the methods it finds on them, even where those are data.
  if (error instanceof TypeError) return 'The value cannot be checked; leave out properties such as "toString".'
  throw error
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Reports everything that is wrong with a schema. */
type ExamineSchema = (schema: JsonSchema) => Issue[]

interface SchemaExaminerOptions {
  readonly limits: StructureLimits
  readonly maxIssues: number
  /** Compiles the meta-schema, for the first schema that the walk cannot judge alone. */
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

/** A cache of `limit` values with second-chance eviction; reading only sets a mark. */
function createRecent<V>(limit: number) {
  const entries = new Map<string, { readonly value: V; used: boolean }>()
  return {
    get(key: string): V | undefined {
      const entry = entries.get(key)
      if (entry) entry.used = true
      return entry?.value
    },
    set(key: string, value: V): void {
      // Before inserting: a new entry cannot have been used yet, and would be evicted first.
      for (const [oldest, entry] of entries) {
        if (entries.size < limit) break
        entries.delete(oldest)
        if (entry.used) entries.set(oldest, { value: entry.value, used: false })
      }
      entries.set(key, { value, used: false })
    },
  }
}
