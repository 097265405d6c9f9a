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
