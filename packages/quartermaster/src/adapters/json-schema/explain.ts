import type { ErrorObject } from 'ajv'
import { type Issue, issueText } from '../../contracts/index.ts'
import { didYouMean, firstIssues } from '../../core/kernel/index.ts'

interface Findings {
  readonly errors: readonly ErrorObject[]
  readonly value: unknown
  readonly lookup: (ref: string) => unknown
  readonly maxIssues: number
}

/** Converts Ajv's errors to issues a caller can act on: no duplicates, no noise from unions, at most `maxIssues`. */
export function explain({ errors, value, lookup, maxIssues }: Findings): Issue[] {
  const members = createMembers(lookup)
  const failures: Failure[] = []
  for (const error of errors) failures.push(...settle({ error, path: pathOf(error, value) }, failures, members))
  if (members.areTooMany()) return errors.slice(-1).map(error => toIssue({ error, path: pathOf(error, value) }))
  const telling = withoutEchoes(failures)
  return limitIssues(telling.slice(0, MOST_WORDED).map(toIssue), maxIssues, telling.slice(MOST_WORDED).length)
}

/** Wording an issue may search the whole schema, and hardly any issue beyond the first is read. */
const MOST_WORDED = 20

/** Removes duplicates and limits the issues; the last one then says how many were left out, including `others`. */
export function limitIssues(issues: readonly Issue[], maxIssues: number, others = 0): Issue[] {
  if (issues.length === 0) return []
  const unique = [...new Map(issues.map(issue => [JSON.stringify(issue), issue])).values()]
  return firstIssues(unique, maxIssues, others)
}

/** What a failure adds to those before it. A union comes after the failures of its branches, and replaces them. */
function settle(failure: Failure, before: Failure[], members: Members): Failure[] {
  const { keyword } = failure.error
  if (keyword === 'anyOf' || keyword === 'oneOf') {
    return narrowUnion(failure, takeInside(failure.error, before, members), members)
  }
  if (keyword === 'contains') takeInside(failure.error, before, members)
  return SILENT.has(keyword) ? [] : [failure]
}

/** These keywords only repeat that something inside them failed. */
const SILENT: ReadonlySet<string> = new Set(['if', 'propertyNames'])

/** Removes the failures at the end of the list that belong to this error. */
function takeInside(error: ErrorObject, before: Failure[], members: Members): Failure[] {
  const inside = members.of(error.schema)
  let start = before.length
  while (start > 0 && belongs(before[start - 1], error, inside)) start--
  return before.splice(start)
}

function belongs(failure: Failure | undefined, error: ErrorObject, inside: ReadonlySet<unknown>): boolean {
  return failure !== undefined && inside.has(failure.error.parentSchema) && isBelow(failure.error, error)
}

/** Drops failures that a better one covers: "not a string" beside "one of these", a pattern beside the format it spells out. */
function withoutEchoes(failures: readonly Failure[]): Failure[] {
  const placesOf = (...keywords: string[]) =>
    new Set(failures.flatMap(({ error }) => (keywords.includes(error.keyword) ? error.instancePath : [])))
  const chosen = placesOf('enum', 'const')
  const formatted = placesOf('format')
  return failures.filter(({ error: { keyword, instancePath } }) => {
    if (keyword === 'type') return !chosen.has(instancePath)
    return keyword !== 'pattern' || !formatted.has(instancePath)
  })
}

function toIssue({ error, path, message }: Failure): Issue {
  return { path, message: message?.() ?? messageOf(error, path) }
}

interface Failure {
  readonly error: ErrorObject
  readonly path: Path
  /** Lazy: wording may search the whole schema. */
  readonly message?: () => string
}

/** The schema objects that belong to a subschema, references followed. */
interface Members {
  of(schema: unknown): ReadonlySet<unknown>
  /** Whether the schema was too large, so that `of` is incomplete. */
  areTooMany(): boolean
}

/** No schema written by hand has more, but references can repeat parts many times. */
const MOST_MEMBERS = 100_000

function createMembers(lookup: (ref: string) => unknown): Members {
  const known = new Map<unknown, ReadonlySet<unknown>>()
  let left = MOST_MEMBERS
  return {
    of(schema) {
      const found = known.get(schema) ?? collect(schema, { lookup, most: left })
      if (!known.has(schema)) left -= found.size
      known.set(schema, found)
      return found
    },
    areTooMany: () => left <= 0,
  }
}

function isBelow(inner: ErrorObject, outer: ErrorObject): boolean {
  return inner.instancePath === outer.instancePath || inner.instancePath.startsWith(`${outer.instancePath}/`)
}

/**
 * Reduces the failures of an `anyOf` or `oneOf` to the branch that was meant, if that can be told: by the value's type, then by a
 * property that names the form (`kind: "circle"`).
 */
function narrowUnion(union: Failure, inside: readonly Failure[], members: Members): Failure[] {
  const { params, schema } = union.error
  if (Array.isArray(params.passingSchemas))
    return [says(union, () => 'fits more than one of the allowed forms; only one may fit.')]
  const forms = schema as readonly unknown[]
  if (forms.length * inside.length > MOST_COMPARISONS) return [noForm(union, forms)]
  const branches = forms
    .map(branch => inside.filter(({ error }) => members.of(branch).has(error.parentSchema)))
    .filter(failures => failures.length > 0)
  if (branches.length === 0) return [noForm(union, forms)]
  const typed = branches.filter(failures => !failures.some(failure => isWrongType(failure, union)))
  if (typed.length === 0) return [wrongType(union, branches.flat())]
  const tagged = typed.filter(failures => !failures.some(failure => isTag(failure, union)))
  const likely = tagged.length > 0 ? tagged : typed
  return onlyOf(likely) ?? sameChoice(likely) ?? [says(union, () => allForms(likely))]
}

interface Collecting {
  readonly lookup: (ref: string) => unknown
  readonly most: number
}

function collect(schema: unknown, { lookup, most }: Collecting): Set<unknown> {
  const found = new Set<unknown>()
  const pending: unknown[] = [schema]
  for (let next = pending.pop(); next !== undefined && found.size < most; next = pending.pop()) {
    if (typeof next !== 'object' || next === null || found.has(next)) continue
    found.add(next)
    for (const value of Object.values(next)) pending.push(value)
    const { $ref } = next as { $ref?: unknown }
    if (typeof $ref === 'string') pending.push(lookup($ref))
  }
  return found
}

function says(failure: Failure, word: () => string): Failure {
  let text: string | undefined
  return { ...failure, message: () => (text ??= word()) }
}

function noForm(union: Failure, forms: readonly unknown[]): Failure {
  return says(union, () => `fits none of the ${forms.length} allowed forms.`)
}

function isWrongType({ error }: Failure, union: Failure): boolean {
  return error.keyword === 'type' && error.instancePath === union.error.instancePath
}

/** Whether a direct property of the value differs from the fixed value in this branch. */
function isTag({ error, path }: Failure, union: Failure): boolean {
  return allowedBy(error) !== undefined && path.length === union.path.length + 1
}

function wrongType(union: Failure, inside: readonly Failure[]): Failure {
  const types = inside
    .filter(failure => isWrongType(failure, union))
    .flatMap(({ error }) => error.params.type as string | string[])
  return says(union, () => `must be ${describeTypes(types)}, not ${typeName(union.error.data)}.`)
}

function onlyOf(branches: readonly (readonly Failure[])[]): Failure[] | undefined {
  const [only, ...others] = branches
  return only && others.length === 0 ? [...only] : undefined
}

/** Where every branch fixes the value of the same property, the choice is among those values. */
function sameChoice(branches: readonly (readonly Failure[])[]): Failure[] | undefined {
  const choices = branches.map(failures => failures.find(({ error }) => allowedBy(error) !== undefined))
  const place = choices[0]
  if (!place || choices.some(choice => choice?.error.instancePath !== place.error.instancePath)) return undefined
  const values = choices.flatMap(choice => (choice && allowedBy(choice.error)) ?? [])
  return [says(place, () => `must be one of ${listValues(values)}.`)]
}

function allowedBy({ keyword, params }: ErrorObject): readonly unknown[] | undefined {
  if (keyword === 'const') return [params.allowedValue]
  return keyword === 'enum' ? (params.allowedValues as readonly unknown[]) : undefined
}

/** Beyond this many comparisons the intended branch is not searched for. */
const MOST_COMPARISONS = 10_000

const MAX_FORMS = 4
const MAX_REASONS = 3
/** Nested unions have the reasons of all of them. */
const MAX_TEXT = 4000

function allForms(branches: readonly (readonly Failure[])[]): string {
  const forms = branches.slice(0, MAX_FORMS).map((failures, index) => {
    const reasons = failures
      .slice(0, MAX_REASONS)
      .map(({ error, path, message }) => issueText({ path, message: message?.() ?? messageOf(error, path) }))
    return `(${index + 1}) ${reasons.join(' ')}`
  })
  const more = branches.length - forms.length
  const text = forms.join(' ')
  const shown = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
  return `fits none of the allowed forms. ${shown}${more > 0 ? ` And ${more} more.` : ''}`
}

export type Failing = Pick<ErrorObject, 'keyword' | 'params'> & Partial<ErrorObject>

/** The message of an error, without its path. It never repeats the value, which may be secret. */
export function messageOf(error: Failing, path: Path): string {
  const say = MESSAGES[error.keyword]
  const { propertyName } = error
  const subject = propertyName === undefined ? '' : `The property name ${JSON.stringify(propertyName)} `
  return `${subject}${say ? say({ ...error.params, error, path }) : `${error.message ?? 'is not allowed'}.`}`
}

/** Formats types: `a string or null`. */
export function describeTypes(types: readonly string[]): string {
  return joinOr([...new Set(types)].map(type => WITH_ARTICLE[type] ?? type))
}

/** The JSON type of a value, with its article. */
export function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return WITH_ARTICLE[typeof value] ?? 'nothing'
}

/** Formats values: `"a", "b" or "c"`, truncated when there are many. */
export function listValues(values: readonly unknown[]): string {
  const shown = [
    ...new Set(values.slice(0, MAX_COMPARED).map(value => shorten(JSON.stringify(value) ?? 'null', MAX_VALUE))),
  ]
  const rest = shown.length - MAX_LISTED + Math.max(0, values.length - MAX_COMPARED)
  return rest > 0 ? `${shown.slice(0, MAX_LISTED).join(', ')} and ${rest} more` : joinOr(shown)
}

/** A schema may list thousands of values; the closest is searched among this many. */
const MAX_COMPARED = 100

const MAX_LISTED = 20
const MAX_VALUE = 60
const MAX_PATTERN = 200

interface Facts {
  readonly error: Failing
  readonly path: Path
  readonly [param: string]: unknown
}
type Say = (facts: Facts) => string

const limits =
  (wording: string, unit = ''): Say =>
  ({ limit }) =>
    `must ${wording} ${limit}${unit && ` ${limit === 1 ? unit : plural(unit)}`}.`

const missing: Say = ({ path, property, error }) => {
  const type = typeWanted(path.at(-1), error.parentSchema)
  return `is missing${type && ` (${type})`}${property === undefined ? '' : ` when ${JSON.stringify(property)} is there`}.`
}

/** The type of a property, if its schema names it directly. */
function typeWanted(name: unknown, schema: Failing['parentSchema']): string {
  const { type } = Object(Object(schema?.properties)[String(name)])
  return typeof type === 'string' || Array.isArray(type) ? describeTypes([type].flat().map(String)) : ''
}

const unknownProperty: Say = ({ path, error }) => {
  const known = knownProperties(error.parentSchema).slice(0, MAX_COMPARED)
  const name = String(path.at(-1))
  return `is not a known property.${didYouMean(name, known) || listKnown(known)}`
}

const tooManyItems: Say = ({ limit }) => `must have at most ${limit} ${limit === 1 ? 'item' : 'items'}.`

const MESSAGES: Readonly<Record<string, Say | undefined>> = {
  type: ({ type, error }) => `must be ${describeTypes([type].flat().map(String))}, not ${typeName(error.data)}.`,
  enum: ({ allowedValues, error }) => {
    const allowed = allowedValues as readonly unknown[]
    const texts = allowed.slice(0, MAX_COMPARED).filter(value => typeof value === 'string')
    const hint = typeof error.data === 'string' ? didYouMean(error.data, texts) : ''
    return `must be one of ${listValues(allowed)}.${hint}`
  },
  const: ({ allowedValue }) => `must be ${listValues([allowedValue])}.`,
  required: missing,
  dependentRequired: missing,
  dependencies: missing,
  additionalProperties: unknownProperty,
  unevaluatedProperties: unknownProperty,
  anyOf: () => 'fits none of the allowed forms.',
  oneOf: () => 'fits none of the allowed forms, or more than one.',
  minProperties: limits('have at least', 'property'),
  maxProperties: limits('have at most', 'property'),
  not: ({ error }) =>
    Object.keys(error.schema ?? {}).length === 0
      ? 'is not allowed.'
      : `is one of the values that are excluded: ${shorten(JSON.stringify(error.schema), MAX_PATTERN)}.`,
  minimum: limits('be at least'),
  maximum: limits('be at most'),
  exclusiveMinimum: limits('be greater than'),
  exclusiveMaximum: limits('be less than'),
  multipleOf: ({ multipleOf }) => `must be a multiple of ${multipleOf}.`,
  minLength: facts => (facts.limit === 1 ? 'must not be empty.' : limits('have at least', 'character')(facts)),
  maxLength: limits('have at most', 'character'),
  pattern: ({ pattern }) => `must match the pattern ${shorten(String(pattern), MAX_PATTERN)}`,
  format: ({ format }) => `must be ${FORMATS[String(format)] ?? `in the format "${format}"`}.`,
  minItems: limits('have at least', 'item'),
  maxItems: limits('have at most', 'item'),
  items: tooManyItems,
  additionalItems: tooManyItems,
  unevaluatedItems: tooManyItems,
  uniqueItems: ({ i, j }) => `must not repeat itself: items ${j} and ${i} are equal.`,
  contains: ({ minContains, maxContains, error }) => {
    const most = maxContains === undefined ? '' : ` and at most ${maxContains}`
    const form = shorten(JSON.stringify(error.schema), MAX_PATTERN)
    return `must have at least ${minContains}${most} of the items described by ${form}.`
  },
}

const FORMATS: Readonly<Record<string, string | undefined>> = {
  date: 'a date such as 2026-01-31',
  time: 'a time with its zone, such as 12:30:00Z',
  'date-time': 'a date and time with its zone, such as 2026-01-31T12:30:00Z',
  duration: 'a duration such as P3DT4H',
  email: 'an e-mail address',
  hostname: 'a host name',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  uri: 'a full URI with its scheme, such as https://example.com/page',
  'uri-reference': 'a URI or a relative reference',
  uuid: 'a UUID',
  regex: 'a regular expression',
}

const WITH_ARTICLE: Readonly<Record<string, string | undefined>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'a boolean',
  object: 'an object',
  array: 'an array',
  null: 'null',
}

/** The property names that the schema allows, as far as it lists them. */
function knownProperties(schema: unknown): string[] {
  const { properties, allOf, anyOf, oneOf } = (schema ?? {}) as Record<string, unknown>
  const parts = [allOf, anyOf, oneOf].flatMap(list => (Array.isArray(list) ? list : []))
  return [...Object.keys(properties ?? {}), ...parts.flatMap(knownProperties)]
}

function listKnown(known: readonly string[]): string {
  if (known.length === 0) return ' None are.'
  const shown = known.slice(0, MAX_LISTED).map(name => JSON.stringify(name))
  return ` Known are ${shown.join(', ')}${known.length > MAX_LISTED ? ` and ${known.length - MAX_LISTED} more` : ''}.`
}

function joinOr(words: readonly string[]): string {
  if (words.length < 2) return words.join('')
  return `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

function plural(unit: string): string {
  return unit.endsWith('y') ? `${unit.slice(0, -1)}ies` : `${unit}s`
}

function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text
}

type Path = (string | number)[]

/** The path of an error in the value, including a missing or unknown property. */
function pathOf(error: ErrorObject, value: unknown): Path {
  const path = decodePointer(error.instancePath, value)
  const property = PROPERTY_OF[error.keyword]?.(error.params)
  return property === undefined ? path : [...path, property]
}

const PROPERTY_OF: Readonly<Record<string, ((params: Record<string, string>) => string | undefined) | undefined>> = {
  required: params => params.missingProperty,
  dependentRequired: params => params.missingProperty,
  dependencies: params => params.missingProperty,
  additionalProperties: params => params.additionalProperty,
  unevaluatedProperties: params => params.unevaluatedProperty,
}

/** Decodes a JSON pointer into keys and indexes. Only the value tells which of the two a digit is. */
function decodePointer(pointer: string, value: unknown): Path {
  let at = value
  return pointer
    .split('/')
    .slice(1)
    .map(token => {
      const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
      const step = Array.isArray(at) ? Number(key) : key
      at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined
      return step
    })
}
