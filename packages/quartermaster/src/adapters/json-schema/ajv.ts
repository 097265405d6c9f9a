import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats, { type FormatName } from 'ajv-formats'
import { AppError } from '../../contracts/index.ts'
import type { Dialect } from './dialect.ts'
import { targetOf } from './expansion.ts'
import { createMatchedPatterns, type MatchedPatterns, type PassedOver } from './matched-patterns.ts'
import type { SchemaNode } from './plain-schema.ts'

/** Checks values against one schema. */
export interface Checker {
  /** What is wrong with the value, in Ajv's words; nothing when it fits. Patterns match what does not fit in `mostMatched` characters. */
  find(value: unknown, mostMatched?: number): readonly ErrorObject[]
  /** What of the last value did not. */
  passedOver(): PassedOver
  /** The schema that a reference in this one means. */
  lookup(ref: string): unknown
}

/** The formats of 2020-12. Others are remarks, as the specification has it. */
const FORMATS: FormatName[] = [
  'date',
  'time',
  'date-time',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uri',
  'uri-reference',
  'uri-template',
  'uuid',
  'json-pointer',
  'relative-json-pointer',
  'regex',
]

/**
 * The largest value all of whose errors are looked for, counted in objects, lists and leaves. Ajv copies the errors it
 * has for every reference that adds one, so ten times the value takes a hundred times as long.
 */
const MAX_VALUES = 4000

const SHARED: Options = { strict: false, allErrors: true, verbose: true, logger: false }

/**
 * Compiles a plain schema. Each gets an Ajv of its own, which costs a quarter of a millisecond: a shared one keeps all
 * it ever compiled in its scope, also after `removeSchema`.
 */
export function compilePlain(schema: SchemaNode, dialect: Dialect): Checker {
  const patterns = createMatchedPatterns()
  const all = compile(schema, { dialect, patterns, allErrors: true })
  let first: ValidateFunction | undefined
  return {
    find(value, mostMatched = Number.POSITIVE_INFINITY) {
      patterns.begin(mostMatched)
      if (countValues(value) <= MAX_VALUES) return run(all, value)
      first ??= compile(schema, { dialect, patterns, allErrors: false })
      return run(first, value)
    },
    passedOver: patterns.passedOver,
    lookup: ref => targetOf(ref, schema),
  }
}

/** Checks schemas against the meta-schema of their dialect. Compiling that takes tens of milliseconds. */
export function compileMetaSchema(dialect: Dialect): Checker {
  const options: Options = { ...SHARED, validateFormats: false }
  const ajv = dialect === 'draft-07' ? new Ajv(options) : new Ajv2020(options)
  const { id, types } = META[dialect]
  const validate = ajv.getSchema(id)
  if (!validate) throw new AppError('INTERNAL', `The meta-schema of ${dialect} is missing from Ajv.`)
  const lookup = (ref: string) => (ref.startsWith('#/') ? ajv.getSchema(types + ref)?.schema : undefined)
  return { find: schema => run(validate, schema), passedOver: () => 'nothing', lookup }
}

/** The meta-schema, and the part of it that says what `type` may be: the only choice in it that needs explaining. */
const META = {
  '2020-12': {
    id: 'https://json-schema.org/draft/2020-12/schema',
    types: 'https://json-schema.org/draft/2020-12/meta/validation',
  },
  'draft-07': { id: 'http://json-schema.org/draft-07/schema', types: 'http://json-schema.org/draft-07/schema' },
} as const satisfies Record<Dialect, { id: string; types: string }>

interface Compiling {
  readonly dialect: Dialect
  readonly patterns: MatchedPatterns
  readonly allErrors: boolean
}

function compile(schema: SchemaNode, { dialect, patterns, allErrors }: Compiling): ValidateFunction {
  const options: Options = {
    ...SHARED,
    allErrors,
    meta: false,
    validateSchema: false,
    addUsedSchema: false,
    // Otherwise `{}` would have the properties "constructor" and "toString".
    ownProperties: true,
    // Copying a definition to each place that refers to it can turn a small schema into megabytes of code.
    inlineRefs: false,
    code: { regExp: Object.assign((source: string) => patterns.pattern(source), { code: 'linearPattern' }) },
  }
  const ajv = dialect === 'draft-07' ? new Ajv(options) : new Ajv2020(options)
  addFormats.default(ajv, { formats: FORMATS, keywords: false })
  return ajv.compile(schema)
}

function run(validate: ValidateFunction, value: unknown): readonly ErrorObject[] {
  if (validate(value)) return []
  const errors = validate.errors ?? []
  // The errors hold the value, which may be large or secret.
  validate.errors = null
  return errors
}

/** How many values there are in this one, itself included; counting ends soon after `MAX_VALUES`. */
function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  let count = 1
  for (const child of Object.values(value)) {
    count += countValues(child)
    if (count > MAX_VALUES) break
  }
  return count
}
