import type { Failing } from './explain.ts'

/** What is wrong with a value, as an error of the meta-schema. */
type Fault = Pick<Failing, 'keyword' | 'params'>

/** The rules for a value in a schema. */
export interface Shape {
  /** Checks the value itself; `undefined` when it is valid. */
  check(value: unknown): Fault | undefined
  /** The rules for a child of a valid value. */
  inside(key: string | number, child: unknown): Shape
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

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

export const count = leaf(
  both(isInteger, value => ((value as number) < 0 ? { keyword: 'minimum', params: { limit: 0 } } : undefined)),
)

export const positive = leaf(
  both(isNumber, value => ((value as number) > 0 ? undefined : { keyword: 'exclusiveMinimum', params: { limit: 0 } })),
)

/** Unique names. */
export const names: Shape = { check: both(isArray, repetition), inside: () => text }

export function matching(pattern: RegExp): Shape {
  const fault: Fault = { keyword: 'pattern', params: { pattern: pattern.source } }
  return leaf(both(isText, value => (pattern.test(value as string) ? undefined : fault)))
}

/** One of these words, or a list of them. */
export function wordOrWords(words: readonly string[]): Shape {
  const known: ReadonlySet<unknown> = new Set(words)
  const fault: Fault = { keyword: 'enum', params: { allowedValues: words } }
  const word = leaf(value => (known.has(value) ? undefined : fault))
  const several = both(emptiness, repetition)
  return { check: value => (Array.isArray(value) ? several(value) : word.check(value)), inside: () => word }
}

export function listOf(item: Shape): Shape {
  return { check: both(isArray, emptiness), inside: () => item }
}

/** An object with arbitrary keys. */
export function mapOf(item: Shape): Shape {
  return { check: isMap, inside: () => item }
}

export function typed(types: readonly string[], is: (value: unknown) => boolean): Shape['check'] {
  const fault: Fault = { keyword: 'type', params: { type: types } }
  return value => (is(value) ? undefined : fault)
}

function leaf(check: Shape['check']): Shape {
  return { check, inside: () => anything }
}

/** The second check may rely on the first. */
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

/** The two dialects in use: that of MCP and zod, and that of older generators. */
export type Dialect = '2020-12' | 'draft-07'

/** The dialect a schema declares, by default 2020-12; `undefined` for an unknown one. */
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

/** How a keyword holds schemas: one, a list, or by name. */
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

/** The keywords that hold schemas. */
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

/** The keywords that constrain the value itself; all others without schemas are annotations. */
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

/** The direct subschemas, each with its path. */
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
