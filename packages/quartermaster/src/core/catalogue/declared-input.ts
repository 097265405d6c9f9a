import {
  type AsTask,
  type DeclarationFacts,
  type DeclaredParameter,
  type Issue,
  type JsonSchema,
  type RetryPolicy,
} from '../../contracts/index.ts'
import { didYouMean } from '../kernel/index.ts'
import { type CheckDeps } from './checks.ts'
import { type OpFacts } from './definitions.ts'
import { type CatalogueOp } from './generation.ts'
import { widenings } from './narrower.ts'
import { type ProblemList } from './problem-list.ts'

/** What a declared tool takes. */
export interface DeclaredInput {
  /** What callers give. */
  readonly schema: JsonSchema
  /** What the op is given where callers do not say otherwise, or cannot. */
  readonly given: Readonly<Record<string, unknown>>
}

/** Makes the input of a declared tool, and compares it with what its op takes, both ways. */
export function declaredInput(facts: DeclarationFacts, op: CatalogueOp, at: DeclaredPlace): DeclaredInput {
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
  const wrong = wrongSchemas(schema, at)
  const sound = parameters.filter(({ name }) => !wrong.has(name))
  if (wide) compareWith(wide, { facts, parameters: sound, op, at })
  else for (const one of sound) checkFree(one, at)
  const defaults = sound.filter(one => 'default' in one.schema && isDefaultSound(one, schema, at))
  const given = { ...Object.fromEntries(defaults.map(one => [one.name, one.schema.default])), ...facts.fixed }
  if (!wide && Object.keys(facts.fixed).length > 0)
    at.add('fixed', `has values, and "${op.id}" has no inputs of its own to give them to. Write them under "with"`)
  return { schema, given }
}

interface Parameter {
  readonly name: string
  readonly isRequired: boolean
  readonly schema: JsonSchema
}

/** What a declaration does not say of a parameter is as its op has it. */
function parameterOf(name: string, written: DeclaredParameter, wide: JsonSchema | undefined): Parameter {
  const { required, ...own } = written ?? {}
  const base = wide && propertyOf(wide, name)
  const inherited = typeof base === 'object' ? base : {}
  const isRequired = required ?? (!('default' in own) && requiredOf(wide).includes(name))
  return { name, isRequired, schema: { ...inherited, ...(lifted(own) as JsonSchema) } }
}

function propertyOf({ properties }: JsonSchema, name: string): JsonSchema | boolean | undefined {
  const known = (properties ?? {}) as Record<string, JsonSchema | boolean>
  return Object.hasOwn(known, name) ? known[name] : undefined
}

function requiredOf(schema: JsonSchema | undefined): readonly string[] {
  return Array.isArray(schema?.required) ? schema.required : []
}

/** Inside of an object too, `required: true` is said at each property; JSON Schema has it as a list of names. */
function lifted(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(lifted)
  if (typeof schema !== 'object' || schema === null) return schema
  const whole = Object.fromEntries(
    Object.entries(schema).map(([word, value]) => [word, IN_WORDS.has(word) ? value : lifted(value)]),
  )
  const { properties } = schema as JsonSchema
  if (typeof properties !== 'object' || properties === null) return whole
  const entries = Object.entries(properties as Record<string, JsonSchema>)
  const required = entries.filter(([, one]) => one?.required === true).map(([name]) => name)
  const parts = entries.map(([name, one]) => [name, lifted(withoutMark(one))])
  const all = [...new Set([...requiredOf(schema as JsonSchema), ...required])]
  return { ...whole, properties: Object.fromEntries(parts), ...(all.length > 0 ? { required: all } : {}) }
}

/** What holds values, and no schemas. */
const IN_WORDS = new Set(['default', 'enum', 'const', 'examples', 'required', 'properties'])

function withoutMark(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  const { required, ...rest } = schema as JsonSchema
  return typeof required === 'boolean' ? rest : schema
}

/** The names of parameters that are no schemas, after having said why. */
function wrongSchemas(schema: JsonSchema, at: DeclaredPlace): Set<PropertyKey | undefined> {
  const issues = at.deps.compiler.check(schema).map(({ path, message }) => ({ path: path.slice(1), message }))
  at.addIssues('parameters', issues)
  return new Set(issues.map(({ path }) => path[0]))
}

interface Compared {
  readonly facts: DeclarationFacts
  readonly parameters: readonly Parameter[]
  readonly op: CatalogueOp
  readonly at: DeclaredPlace
}

function compareWith(wide: JsonSchema, { facts, parameters, op, at }: Compared): void {
  const known = Object.keys((wide.properties ?? {}) as object)
  const { compiler } = at.deps
  const comparison = { compiler, root: wide }
  const others = typeof wide.additionalProperties === 'object' ? (wide.additionalProperties as JsonSchema) : undefined
  const unknown = (field: string, name: string) =>
    at.add(field, `is no input of "${op.id}".${didYouMean(name, known) || ` It has ${known.join(', ') || 'none'}.`}`)
  for (const { name, schema } of parameters) {
    const theirs = propertyOf(wide, name) ?? others
    if (theirs === undefined) unknown(`parameters.${name}`, name)
    else at.addIssues(`parameters.${name}`, widenings(schema, theirs, comparison))
    if (Object.hasOwn(facts.fixed, name))
      at.add(`fixed.${name}`, 'is a parameter as well; it can be only one of the two')
  }
  for (const [name, value] of Object.entries(facts.fixed)) {
    const theirs = propertyOf(wide, name) ?? others
    if (theirs === undefined) unknown(`fixed.${name}`, name)
    else at.addIssues(`fixed.${name}`, widenings({ const: value }, theirs, comparison))
  }
  for (const name of requiredOf(wide)) checkGiven(name, { facts, parameters, op, at })
}

/** What the op needs must come from somewhere. */
function checkGiven(name: string, { facts, op, at }: Compared): void {
  if (Object.hasOwn(facts.fixed, name)) return
  const written = facts.parameters[name]
  if (written === undefined)
    at.add(`parameters.${name}`, `is missing, and "${op.id}" needs it: declare it, or give it a value under "fixed"`)
  else if (written?.required === false && !('default' in written))
    at.add(`parameters.${name}.required`, `must be true, or have a default: "${op.id}" needs it`)
}

const TYPED = ['type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', '$ref']

/** Where the op has no inputs of its own, nothing else says what a parameter is. */
function checkFree({ name, schema }: Parameter, at: DeclaredPlace): void {
  if (!TYPED.some(word => word in schema))
    at.add(`parameters.${name}.type`, 'is needed: string, number, integer, boolean, array or object')
}

function isDefaultSound({ name, schema }: Parameter, whole: JsonSchema, at: DeclaredPlace): boolean {
  const defs = whole.$defs === undefined ? {} : { $defs: whole.$defs }
  const checked = at.deps.compiler.compile({ ...defs, ...schema })(schema.default)
  if (!checked.ok) at.addIssues(`parameters.${name}.default`, checked.issues)
  return checked.ok
}

/** From what does nothing by itself to what does most. */
const RETRIES: readonly RetryPolicy[] = ['manual', 'verifyFirst', 'replay']

/**
 * The safety facts of a declared tool. What the op says of itself is true of whatever is made of it: a declaration may be
 * more careful, and never less. What the op leaves open, the declaration says.
 */
export function declaredFacts(facts: DeclarationFacts, op: OpFacts, at: DeclaredPlace): OpFacts {
  const timeoutMs = facts.timeoutSeconds === undefined ? undefined : Math.round(facts.timeoutSeconds * 1000)
  const declared = { ...facts, timeoutMs }
  checkFlags(facts, op, at)
  checkRetry(facts.retry, op.retry, at)
  checkTask(facts.asTask, op.asTask, at)
  checkMost('timeoutSeconds', facts.timeoutSeconds, op.timeoutMs === undefined ? undefined : op.timeoutMs / 1000, at)
  checkMost('maxResultBytes', facts.maxResultBytes, op.maxResultBytes, at)
  const consent = facts.consent.map(one => (typeof one === 'string' ? one : one.name))
  return {
    ...withoutGaps(op),
    ...withoutGaps({
      mutates: declared.mutates,
      idempotent: declared.idempotent,
      retry: declared.retry,
      timeoutMs: declared.timeoutMs,
      maxResultBytes: declared.maxResultBytes,
      asTask: declared.asTask,
    }),
    requires: [...new Set([...(op.requires ?? []), ...facts.requires])],
    consent: [...new Set([...(op.consent ?? []), ...consent])],
  }
}

function checkFlags(facts: DeclarationFacts, op: OpFacts, at: DeclaredPlace): void {
  if (op.mutates === true && facts.mutates === false) at.add('mutates', 'cannot be false: the op changes things')
  if (op.idempotent === false && facts.idempotent === true)
    at.add('idempotent', 'cannot be true: with the op, doing it twice is not the same as once')
}

function checkRetry(declared: RetryPolicy | undefined, op: RetryPolicy | undefined, at: DeclaredPlace): void {
  if (declared === undefined || op === undefined || RETRIES.indexOf(declared) <= RETRIES.indexOf(op)) return
  const careful = RETRIES.slice(0, RETRIES.indexOf(op) + 1).map(one => `"${one}"`)
  at.add('retry', `is "${declared}", and the op allows ${careful.join(' or ')}`)
}

function checkTask(declared: AsTask | undefined, op: AsTask | undefined, at: DeclaredPlace): void {
  if (declared === undefined || op === undefined || op === 'whenPossible' || declared === op) return
  at.add('asTask', `is "${declared}", and the op is "${op}"`)
}

function checkMost(field: string, declared: number | undefined, op: number | undefined, at: DeclaredPlace): void {
  if (declared !== undefined && op !== undefined && declared > op) at.add(field, `is at most ${op}, as the op has it`)
}

function withoutGaps<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as never
}

/** Where the problems of one declaration go. */
export interface DeclaredPlace {
  readonly deps: CheckDeps
  add(field: string, message: string): void
  addIssues(field: string, issues: readonly Issue[]): void
}

export function declaredPlace(subject: string, problems: ProblemList, deps: CheckDeps): DeclaredPlace {
  return {
    deps,
    add: (field, message) => problems.add(subject, field, message),
    addIssues: (field, issues) => problems.addIssues(subject, field, issues.map(asPredicate)),
  }
}

/** A problem is told behind the name of its field; what libraries say is often a sentence of its own. */
function asPredicate({ path, message }: Issue): Issue {
  return { path, message: /^[A-Z"]/.test(message) ? `is wrong: ${message}` : message }
}
