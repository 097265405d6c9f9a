import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats, { type FormatName } from 'ajv-formats'
import { AppError } from '../../contracts/index.ts'
import { createMatchedPatterns, type MatchedPatterns } from './pattern.ts'
import type { PlainSchema } from './plain-schema.ts'
import { resolveReference } from './plain-schema.ts'
import { countKeywords } from './repetition.ts'
import { type Dialect, isObject } from './shape.ts'
import { createSteps, type Steps, TooManySteps } from './steps.ts'

/** Checks values against one schema. */
export interface Checker {
  /**
   * Ajv's errors for the value; none when it fits. Throws `TooManySteps` when the budget is exceeded, and for texts too long for
   * the patterns unless those are skipped.
   */
  find(value: unknown, skipsLongTexts?: boolean): readonly ErrorObject[]
  hasSkipped(): boolean
  /** Resolves a reference of this schema. */
  lookup(ref: string): unknown
  steps(): number
}

/** The formats of 2020-12. Unknown formats are annotations. */
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
 * Budget for collecting all errors of an invalid value; beyond it only the first is reported. Ajv copies its error list at every
 * reference that adds one, which is quadratic.
 */
const STEPS_FOR_ALL = 2_000_000

/** Limits of the errors that are explained: their number, and the total length of their paths. */
const MOST_ERRORS = 1000
const MOST_PATHS = 256 * 1024

const SHARED: Options = { strict: false, allErrors: true, verbose: true, logger: false }

/**
 * Compiles a plain schema. Each gets its own Ajv, which costs a quarter of a millisecond: a shared Ajv never frees what it
 * compiled, not even after `removeSchema`.
 */
export function compilePlain(plain: PlainSchema, dialect: Dialect): Checker {
  const steps = createSteps()
  const patterns = createMatchedPatterns(steps)
  const compiling = { dialect, patterns, steps }
  const first = compileFirst(plain, compiling)
  let all: ValidateFunction | undefined
  let hasSkipped = false

  function findAll(value: unknown, skipsLongTexts: boolean): readonly ErrorObject[] | undefined {
    all ??= compile(plain, { ...compiling, allErrors: true })
    steps.begin(value, STEPS_FOR_ALL)
    patterns.begin(skipsLongTexts)
    const errors = runWithin(all, value)
    return errors && areFew(errors) ? errors : undefined
  }
  return {
    find(value, skipsLongTexts = false) {
      steps.begin(value)
      patterns.begin(skipsLongTexts)
      const found = run(first, value)
      hasSkipped = patterns.hasSkipped()
      if (found.length === 0) return found
      const errors = findAll(value, skipsLongTexts) ?? []
      if (errors.length > 0) {
        hasSkipped = patterns.hasSkipped()
        return errors
      }
      // The last error is about the value itself; earlier ones are about its branches.
      return areFew(found) ? found : found.slice(-1)
    },
    hasSkipped: () => hasSkipped,
    lookup: ref => resolveReference(ref, plain.schema),
    steps: steps.taken,
  }
}

function runWithin(validate: ValidateFunction, value: unknown): readonly ErrorObject[] | undefined {
  try {
    return run(validate, value)
  } catch (error) {
    if (error instanceof TooManySteps) return undefined
    throw error
  }
}

function areFew(errors: readonly ErrorObject[]): boolean {
  if (errors.length > MOST_ERRORS) return false
  return errors.reduce((sum, { instancePath }) => sum + instancePath.length, 0) <= MOST_PATHS
}

/** Validates schemas against their meta-schema. Compiling that takes tens of milliseconds. */
export function compileMetaSchema(dialect: Dialect): Checker {
  const options: Options = { ...SHARED, validateFormats: false }
  const ajv = dialect === 'draft-07' ? new Ajv(options) : new Ajv2020(options)
  const { id, types } = META[dialect]
  const validate = ajv.getSchema(id)
  if (!validate) throw new AppError('INTERNAL', `The meta-schema of ${dialect} is missing from Ajv.`)
  const lookup = (ref: string) => (ref.startsWith('#/') ? ajv.getSchema(types + ref)?.schema : undefined)
  return { find: schema => run(validate, schema), hasSkipped: () => false, lookup, steps: () => 0 }
}

/** The meta-schema, and its part that defines `type`: the only union in it that needs explaining. */
const META = {
  '2020-12': {
    id: 'https://json-schema.org/draft/2020-12/schema',
    types: 'https://json-schema.org/draft/2020-12/meta/validation',
  },
  'draft-07': { id: 'http://json-schema.org/draft-07/schema', types: 'http://json-schema.org/draft-07/schema' },
} as const satisfies Record<Dialect, { id: string; types: string }>

/** Stops at the first error. Ajv nests such code one level per property, so thousands of properties overflow its stack. */
function compileFirst(plain: PlainSchema, compiling: Omit<Compiling, 'allErrors'>): ValidateFunction {
  try {
    return compile(plain, { ...compiling, allErrors: false })
  } catch (error) {
    if (error instanceof RangeError) return compile(plain, { ...compiling, allErrors: true })
    throw error
  }
}

interface Compiling {
  readonly dialect: Dialect
  readonly patterns: MatchedPatterns
  readonly steps: Steps
  readonly allErrors: boolean
}

function compile(
  { schema, placeOf }: PlainSchema,
  { dialect, patterns, steps, allErrors }: Compiling,
): ValidateFunction {
  const options: Options = {
    ...SHARED,
    allErrors,
    meta: false,
    validateSchema: false,
    addUsedSchema: false,
    // Otherwise `{}` would have the inherited properties "constructor" and "toString".
    ownProperties: true,
    // Inlining definitions can turn a small schema into megabytes of code.
    inlineRefs: false,
    code: { regExp: Object.assign((source: string) => patterns.pattern(source), { code: 'linearPattern' }) },
  }
  const ajv = dialect === 'draft-07' ? new Ajv(options) : new Ajv2020(options)
  addFormats.default(ajv, { formats: FORMATS, keywords: false })
  countKeywords(ajv, { steps, placeOf, merged: mergedNames(schema) })
  return ajv.compile(schema)
}

/** How many property names Ajv may merge at each reference and branch to evaluate `unevaluatedProperties`. */
function mergedNames(schema: unknown): number {
  let [names, isAsked] = [0, false]
  const pending = [schema]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (!isObject(next) && !Array.isArray(next)) continue
    for (const [key, child] of Object.entries(next)) {
      if (key === 'properties' && isObject(child)) names += Object.keys(child).length
      isAsked ||= key === 'unevaluatedProperties' || key === 'unevaluatedItems'
      pending.push(child)
    }
  }
  return isAsked ? names : 0
}

function run(validate: ValidateFunction, value: unknown): readonly ErrorObject[] {
  if (validate(value)) return []
  // Ajv adds an empty object where error creation is switched off.
  const errors = (validate.errors ?? []).filter(error => error.keyword !== undefined)
  // The errors hold the value, which may be large or secret.
  validate.errors = null
  return errors
}
