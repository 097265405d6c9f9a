import type { Failing } from './message.ts'

/** What is wrong with a value, as the meta-schema would put it: the rule it breaks, and what that rule says. */
type Fault = Pick<Failing, 'keyword' | 'params'>

/** What a value in a schema must look like. */
export interface Shape {
  /** What is wrong with the value itself; nothing when it fits. */
  check(value: unknown): Fault | undefined
  /** What is asked of what stands under this key of a value that fits. */
  inside(key: string | number, child: unknown): Shape
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Anything at all. */
export const anything: Shape = { check: () => undefined, inside: () => anything }

const isArray = typed(['array'], value => Array.isArray(value))
const isInteger = typed(['integer'], value => Number.isInteger(value))
const isMap = typed(['object'], isObject)
const isNumber = typed(['number'], value => typeof value === 'number')
const isText = typed(['string'], value => typeof value === 'string')

export const flag = leaf(typed(['boolean'], value => typeof value === 'boolean'))
export const text = leaf(isText)
export const number = leaf(isNumber)
export const list = leaf(isArray)

/** How many of something there may be. */
export const count = leaf(
  both(isInteger, value => ((value as number) < 0 ? { keyword: 'minimum', params: { limit: 0 } } : undefined)),
)

export const positive = leaf(
  both(isNumber, value => ((value as number) > 0 ? undefined : { keyword: 'exclusiveMinimum', params: { limit: 0 } })),
)

/** Names, none of them twice. */
export const names: Shape = { check: both(isArray, repetition), inside: () => text }

/** A text that a pattern describes. */
export function matching(pattern: RegExp): Shape {
  const fault: Fault = { keyword: 'pattern', params: { pattern: pattern.source } }
  return leaf(both(isText, value => (pattern.test(value as string) ? undefined : fault)))
}

/** One of these words, or several of them in a list. */
export function wordOrWords(words: readonly string[]): Shape {
  const known: ReadonlySet<unknown> = new Set(words)
  const fault: Fault = { keyword: 'enum', params: { allowedValues: words } }
  const word = leaf(value => (known.has(value) ? undefined : fault))
  const several = both(emptiness, repetition)
  return { check: value => (Array.isArray(value) ? several(value) : word.check(value)), inside: () => word }
}

/** A list with at least one item, all of one shape. */
export function listOf(item: Shape): Shape {
  return { check: both(isArray, emptiness), inside: () => item }
}

/** An object with arbitrary keys and values of one shape. */
export function mapOf(item: Shape): Shape {
  return { check: isMap, inside: () => item }
}

/** A check for values of these types, which `is` knows. */
export function typed(types: readonly string[], is: (value: unknown) => boolean): Shape['check'] {
  const fault: Fault = { keyword: 'type', params: { type: types } }
  return value => (is(value) ? undefined : fault)
}

function leaf(check: Shape['check']): Shape {
  return { check, inside: () => anything }
}

/** Only what passes the first check meets the second, which may therefore rely on it. */
function both(first: Shape['check'], second: Shape['check']): Shape['check'] {
  return value => first(value) ?? second(value)
}

function emptiness(value: unknown): Fault | undefined {
  return (value as unknown[]).length > 0 ? undefined : { keyword: 'minItems', params: { limit: 1 } }
}

function repetition(value: unknown): Fault | undefined {
  const items = value as unknown[]
  const met = new Set<unknown>()
  const i = items.findIndex(item => met.size === met.add(item).size)
  return i < 0 ? undefined : { keyword: 'uniqueItems', params: { i, j: items.indexOf(items[i]) } }
}

/** The two dialects in use: what MCP and zod speak, and what older generators still write. */
export type Dialect = '2020-12' | 'draft-07'

/** The dialect a schema says it is written in, 2020-12 when it does not say; `undefined` for one we do not know. */
export function dialectOf(schema: { readonly $schema?: unknown } | null): Dialect | undefined {
  const $schema = schema?.$schema
  if ($schema === undefined) return '2020-12'
  if (typeof $schema !== 'string') return undefined
  return URIS.get($schema.replace(/^https?:\/\//, '').replace(/#$/, ''))
}

const URIS: ReadonlyMap<string, Dialect> = new Map([
  ['json-schema.org/draft/2020-12/schema', '2020-12'],
  ['json-schema.org/draft-07/schema', 'draft-07'],
])

/** How a keyword holds schemas: one, several in order, several by name. */
export type Holding = 'one' | 'list' | 'map'

const SHARED: readonly (readonly [string, Holding])[] = [
  ['items', 'one'],
  ['contains', 'one'],
  ['additionalProperties', 'one'],
  ['propertyNames', 'one'],
  ['not', 'one'],
  ['if', 'one'],
  ['then', 'one'],
  ['else', 'one'],
  ['allOf', 'list'],
  ['anyOf', 'list'],
  ['oneOf', 'list'],
  ['properties', 'map'],
  ['patternProperties', 'map'],
  ['$defs', 'map'],
  ['definitions', 'map'],
]

/** The keywords of each dialect that hold schemas. */
export const HOLDINGS: Readonly<Record<Dialect, ReadonlyMap<string, Holding>>> = {
  '2020-12': new Map([
    ...SHARED,
    ['prefixItems', 'list'],
    ['unevaluatedItems', 'one'],
    ['unevaluatedProperties', 'one'],
    ['dependentSchemas', 'map'],
  ]),
  'draft-07': new Map([...SHARED, ['additionalItems', 'one'], ['dependencies', 'map']]),
}

/** The keywords that look at the value itself; all others that hold no schemas are remarks. */
export const ASSERTIONS: ReadonlySet<string> = new Set([
  'type',
  'enum',
  'const',
  'multipleOf',
  'maximum',
  'exclusiveMaximum',
  'minimum',
  'exclusiveMinimum',
  'maxLength',
  'minLength',
  'pattern',
  'format',
  'maxItems',
  'minItems',
  'uniqueItems',
  'maxContains',
  'minContains',
  'maxProperties',
  'minProperties',
  'required',
  'dependentRequired',
])

/** The schemas that stand directly in this one, each with the way to it. */
export function* subschemas(
  node: Record<string, unknown>,
  dialect: Dialect,
): Generator<[(string | number)[], unknown]> {
  for (const [keyword, value] of Object.entries(node)) {
    if (!HOLDINGS[dialect].has(keyword)) continue
    for (const [way, child] of held(keyword, value, dialect)) yield [way, child]
  }
}

function held(keyword: string, value: unknown, dialect: Dialect): [(string | number)[], unknown][] {
  if (Array.isArray(value)) return value.map((child, index) => [[keyword, index], child])
  if (HOLDINGS[dialect].get(keyword) !== 'map') return [[[keyword], value]]
  return Object.entries(value ?? {}).map(([name, child]) => [[keyword, name], child])
}
