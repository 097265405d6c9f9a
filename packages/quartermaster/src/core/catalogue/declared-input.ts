import {
  type AsTask,
  type DeclarationFacts,
  type DeclaredParameter,
  type Issue,
  type JsonSchema,
  type RetryPolicy,
} from '../../contracts/index.ts'
import { didYouMean } from '../kernel/index.ts'
import { type CheckDeps, type ProblemList } from './checks.ts'
import { findWidenings } from './compare-schemas.ts'
import { type OpFacts } from './definitions.ts'
import { type CatalogueOp } from './generation.ts'

export interface DeclaredInput {
  readonly schema: JsonSchema
  readonly given: Readonly<Record<string, unknown>>
}

/** Builds the input schema of a declared tool and checks it against the input of its op. */
export function declaredInput(facts: DeclarationFacts, op: CatalogueOp, report: DeclarationReport): DeclaredInput {
  const wide = op.input?.described
  const parameters = Object.entries(facts.parameters).map(([name, written]) => parameterOf(name, written, wide))
  const required = parameters.filter(one => one.isRequired).map(({ name }) => name)
  const schema: JsonSchema = {
    type: 'object',
    properties: Object.fromEntries(parameters.map(one => [one.name, one.schema])),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
    ...(wide?.$defs === undefined ? {} : { $defs: wide.$defs }),
  }
  const wrong = wrongSchemas(schema, report)
  const sound = parameters.filter(({ name }) => !wrong.has(name))
  if (wide) compareWithOp(wide, { facts, parameters: sound, op, report })
  else for (const one of sound) checkHasType(one, report)
  const defaults = sound.filter(one => 'default' in one.schema && isDefaultSound(one, schema, report))
  const given = { ...Object.fromEntries(defaults.map(one => [one.name, one.schema.default])), ...facts.fixed }
  if (!wide && Object.keys(facts.fixed).length > 0)
    report.add('fixed', `has values, and "${op.id}" has no inputs of its own to give them to. Write them under "with"`)
  return { schema, given }
}

interface Parameter {
  readonly name: string
  readonly isRequired: boolean
  readonly schema: JsonSchema
}

/** Keywords a declaration omits for a parameter are inherited from the op. */
function parameterOf(name: string, written: DeclaredParameter, wide: JsonSchema | undefined): Parameter {
  const { required, ...own } = written ?? {}
  const base = wide && propertyOf(wide, name)
  const inherited = typeof base === 'object' ? base : {}
  const isRequired = required ?? (!('default' in own) && requiredOf(wide).includes(name))
  return { name, isRequired, schema: { ...inherited, ...(normalizeRequired(own) as JsonSchema) } }
}

function propertyOf({ properties }: JsonSchema, name: string): JsonSchema | boolean | undefined {
  const known = (properties ?? {}) as Record<string, JsonSchema | boolean>
  return Object.hasOwn(known, name) ? known[name] : undefined
}

function requiredOf(schema: JsonSchema | undefined): readonly string[] {
  return Array.isArray(schema?.required) ? schema.required : []
}

/** Turns `required: true` at nested properties into JSON Schema's list of names. */
function normalizeRequired(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(normalizeRequired)
  if (typeof schema !== 'object' || schema === null) return schema
  const whole = Object.fromEntries(
    Object.entries(schema).map(([word, value]) => [word, VALUE_KEYWORDS.has(word) ? value : normalizeRequired(value)]),
  )
  const { properties } = schema as JsonSchema
  if (typeof properties !== 'object' || properties === null) return whole
  const entries = Object.entries(properties as Record<string, JsonSchema>)
  const required = entries.filter(([, one]) => one?.required === true).map(([name]) => name)
  const parts = entries.map(([name, one]) => [name, normalizeRequired(withoutRequiredFlag(one))])
  const all = [...new Set([...requiredOf(schema as JsonSchema), ...required])]
  return { ...whole, properties: Object.fromEntries(parts), ...(all.length > 0 ? { required: all } : {}) }
}

const VALUE_KEYWORDS = new Set(['default', 'enum', 'const', 'examples', 'required', 'properties'])

function withoutRequiredFlag(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  const { required, ...rest } = schema as JsonSchema
  return typeof required === 'boolean' ? rest : schema
}

/** Reports parameters that are invalid schemas and returns their names. */
function wrongSchemas(schema: JsonSchema, report: DeclarationReport): Set<PropertyKey | undefined> {
  const issues = report.deps.compiler.check(schema).map(({ path, message }) => ({ path: path.slice(1), message }))
  report.addIssues('parameters', issues)
  return new Set(issues.map(({ path }) => path[0]))
}

interface Comparison {
  readonly facts: DeclarationFacts
  readonly parameters: readonly Parameter[]
  readonly op: CatalogueOp
  readonly report: DeclarationReport
}

function compareWithOp(wide: JsonSchema, { facts, parameters, op, report }: Comparison): void {
  const known = Object.keys((wide.properties ?? {}) as object)
  const { compiler } = report.deps
  const comparison = { compiler, root: wide }
  const others = typeof wide.additionalProperties === 'object' ? (wide.additionalProperties as JsonSchema) : undefined
  const unknown = (field: string, name: string) =>
    report.add(
      field,
      `is no input of "${op.id}".${didYouMean(name, known) || ` It has ${known.join(', ') || 'none'}.`}`,
    )
  for (const { name, schema } of parameters) {
    const theirs = propertyOf(wide, name) ?? others
    if (theirs === undefined) unknown(`parameters.${name}`, name)
    else report.addIssues(`parameters.${name}`, findWidenings(schema, theirs, comparison))
    if (Object.hasOwn(facts.fixed, name))
      report.add(`fixed.${name}`, 'is a parameter as well; it can be only one of the two')
  }
  for (const [name, value] of Object.entries(facts.fixed)) {
    const theirs = propertyOf(wide, name) ?? others
    if (theirs === undefined) unknown(`fixed.${name}`, name)
    else report.addIssues(`fixed.${name}`, findWidenings({ const: value }, theirs, comparison))
  }
  for (const name of requiredOf(wide)) checkSupplied(name, { facts, parameters, op, report })
}

/** Reports a required input of the op that nothing supplies. */
function checkSupplied(name: string, { facts, op, report }: Comparison): void {
  if (Object.hasOwn(facts.fixed, name)) return
  const written = facts.parameters[name]
  if (written === undefined)
    report.add(
      `parameters.${name}`,
      `is missing, and "${op.id}" needs it: declare it, or give it a value under "fixed"`,
    )
  else if (written?.required === false && !('default' in written))
    report.add(`parameters.${name}.required`, `must be true, or have a default: "${op.id}" needs it`)
}

const TYPED = ['type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', '$ref']

/** Without inputs of the op, nothing else gives a parameter its type. */
function checkHasType({ name, schema }: Parameter, report: DeclarationReport): void {
  if (!TYPED.some(word => word in schema))
    report.add(`parameters.${name}.type`, 'is needed: string, number, integer, boolean, array or object')
}

function isDefaultSound({ name, schema }: Parameter, whole: JsonSchema, report: DeclarationReport): boolean {
  const defs = whole.$defs === undefined ? {} : { $defs: whole.$defs }
  const checked = report.deps.compiler.compile({ ...defs, ...schema })(schema.default)
  if (!checked.ok) report.addIssues(`parameters.${name}.default`, checked.issues)
  return checked.ok
}

const RETRIES: readonly RetryPolicy[] = ['manual', 'verifyFirst', 'replay']

/**
 * The safety facts of a declared tool. Facts of the op hold for every tool made of it, so a declaration may be more careful and
 * never less. It decides what the op leaves open.
 */
export function declaredFacts(facts: DeclarationFacts, op: OpFacts, report: DeclarationReport): OpFacts {
  checkFlags(facts, op, report)
  checkRetry(facts.retry, op.retry, report)
  checkTask(facts.asTask, op.asTask, report)
  const opSeconds = op.timeoutMs === undefined ? undefined : op.timeoutMs / 1000
  checkUpperBound('timeoutSeconds', facts.timeoutSeconds, opSeconds, report)
  checkUpperBound('maxResultBytes', facts.maxResultBytes, op.maxResultBytes, report)
  const consent = facts.consent.map(one => (typeof one === 'string' ? one : one.name))
  return {
    ...withoutUndefined(op),
    ...withoutUndefined({
      mutates: facts.mutates,
      idempotent: facts.idempotent,
      retry: facts.retry,
      timeoutMs: facts.timeoutSeconds === undefined ? undefined : Math.round(facts.timeoutSeconds * 1000),
      maxResultBytes: facts.maxResultBytes,
      asTask: facts.asTask,
    }),
    requires: [...new Set([...(op.requires ?? []), ...facts.requires])],
    consent: [...new Set([...(op.consent ?? []), ...consent])],
  }
}

function checkFlags(facts: DeclarationFacts, op: OpFacts, report: DeclarationReport): void {
  if (op.mutates === true && facts.mutates === false) report.add('mutates', 'cannot be false: the op changes things')
  if (op.idempotent === false && facts.idempotent === true)
    report.add('idempotent', 'cannot be true: with the op, doing it twice is not the same as once')
}

function checkRetry(declared: RetryPolicy | undefined, op: RetryPolicy | undefined, report: DeclarationReport): void {
  if (declared === undefined || op === undefined || RETRIES.indexOf(declared) <= RETRIES.indexOf(op)) return
  const careful = RETRIES.slice(0, RETRIES.indexOf(op) + 1).map(one => `"${one}"`)
  report.add('retry', `is "${declared}", and the op allows ${careful.join(' or ')}`)
}

function checkTask(declared: AsTask | undefined, op: AsTask | undefined, report: DeclarationReport): void {
  if (declared === undefined || op === undefined || op === 'whenPossible' || declared === op) return
  report.add('asTask', `is "${declared}", and the op is "${op}"`)
}

function checkUpperBound(
  field: string,
  declared: number | undefined,
  op: number | undefined,
  report: DeclarationReport,
): void {
  if (declared !== undefined && op !== undefined && declared > op)
    report.add(field, `is at most ${op}, as the op has it`)
}

function withoutUndefined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as never
}

export interface DeclarationReport {
  readonly deps: CheckDeps
  add(field: string, message: string): void
  addIssues(field: string, issues: readonly Issue[]): void
}

export function createReport(subject: string, problems: ProblemList, deps: CheckDeps): DeclarationReport {
  return {
    deps,
    add: (field, message) => problems.add(subject, field, message),
    addIssues(field, issues) {
      // Problems follow the name of their field, but library messages are often whole sentences.
      const predicate = (message: string) => (/^[A-Z"]/.test(message) ? `is wrong: ${message}` : message)
      const worded = issues.map(({ path, message }) => ({ path, message: predicate(message) }))
      problems.addIssues(subject, field, worded)
    },
  }
}
