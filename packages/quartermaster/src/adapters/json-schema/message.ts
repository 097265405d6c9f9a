import type { ErrorObject } from 'ajv'
import { didYouMean } from '../../core/kernel/index.ts'
import type { Path } from './paths.ts'

/** As much of an error as its sentence needs. */
export type Failing = Pick<ErrorObject, 'keyword' | 'params'> & Partial<ErrorObject>

/** What is wrong, to be put behind the path of the value (`issueText`). It never repeats the value: it may be secret. */
export function messageOf(error: Failing, path: Path): string {
  const say = MESSAGES[error.keyword]
  const { propertyName } = error
  const subject = propertyName === undefined ? '' : `The property name ${JSON.stringify(propertyName)} `
  return `${subject}${say ? say({ ...error.params, error, path }) : `${error.message ?? 'is not allowed'}.`}`
}

/** `a string or null`. */
export function describeTypes(types: readonly string[]): string {
  return joinOr([...new Set(types)].map(type => WITH_ARTICLE[type] ?? type))
}

/** What a value is, in the words of JSON. */
export function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return WITH_ARTICLE[typeof value] ?? 'nothing'
}

/** `"a", "b" or "c"`, cut where it would fill the page. */
export function listValues(values: readonly unknown[]): string {
  const shown = [
    ...new Set(values.slice(0, MAX_COMPARED).map(value => shorten(JSON.stringify(value) ?? 'null', MAX_VALUE))),
  ]
  const rest = shown.length - MAX_LISTED + Math.max(0, values.length - MAX_COMPARED)
  return rest > 0 ? `${shown.slice(0, MAX_LISTED).join(', ')} and ${rest} more` : joinOr(shown)
}

/** A schema may list thousands of values or names. The closest one is looked for among this many. */
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

/** The type of a property, where its schema says it in one word. */
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

/** The property names that would have been right, as far as the schema says them here. */
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
