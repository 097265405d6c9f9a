/** Values of every kind that JSON knows, most of them wrong for most keywords. */
export const SAMPLES: readonly unknown[] = [
  ...[null, true, false, 0, 1, -1, 1.5, -0.5, 1e300],
  ...['', 'a', 'string', 'strin', '#a', 'a#', 'a#b', '9a', 'a b', 'https://example.com/a'],
  ...[[], ['a'], ['a', 'b'], ['a', 'a'], [1], [1, 1], ['a', 1], [null], [[]]],
  ...[[{}], [true, {}], [{}, 1], [{ type: 'strin' }], ['string'], ['string', 'null'], ['string', 'string']],
  ...[['strin'], ['string', 'strin'], ['string', 1]],
  ...[{}, { a: true }, { a: {} }, { a: 1 }, { a: null }, { a: 'b' }, { a: [] }, { a: [{}] }, { a: { minLength: 1 } }],
  ...[{ a: { minLength: -1 } }, { a: ['b'] }, { a: ['b', 'b'] }, { a: [1] }, { type: 'string' }, { type: 'strin' }],
  ...[{ properties: { type: 1 } }, { properties: { type: { type: 1 } } }, { constructor: 1 }, { 'x-own': [1] }],
]

/** Draws numbers in [0, 1) that are the same in every run. */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A schema of a few keywords on each of at most `depth` levels; about one keyword in thirty is wrong. */
export function randomSchema(random: () => number, depth = 3): Record<string, unknown> {
  const draw: Draw = {
    pick: items => items[Math.floor(random() * items.length)],
    schema: () => (depth === 0 || random() < 0.2 ? random() < 0.5 : randomSchema(random, depth - 1)),
  }
  const keywords = Array.from({ length: Math.floor(random() * 5) }, () => draw.pick(KEYWORDS) ?? 'type')
  return Object.fromEntries(
    keywords.map(keyword => [keyword, random() < 1 / 30 ? draw.pick(SAMPLES) : MAKERS.get(keyword)?.(draw)]),
  )
}

interface Draw {
  pick<T>(items: readonly T[]): T | undefined
  schema(): unknown
}

type Maker = (draw: Draw) => unknown

const count: Maker = ({ pick }) => pick([0, 1, 7, 2 ** 40])
const flag: Maker = ({ pick }) => pick([true, false])
const names: Maker = ({ pick }) => pick([[], ['a'], ['a', 'b', 'constructor']])
const number: Maker = ({ pick }) => pick([0, -1.5, 3, 1e20])
const text: Maker = ({ pick }) => pick(['', 'a', '^a+$', 'https://example.com/a'])
const schema: Maker = draw => draw.schema()
const schemaList: Maker = draw => draw.pick([[draw.schema()], [draw.schema(), draw.schema()]])
const schemaMap: Maker = draw => draw.pick([{}, { a: draw.schema() }, { type: draw.schema(), b: draw.schema() }])
const value: Maker = ({ pick }) => pick(SAMPLES)

/** A right value for each keyword; `x-remark` stands for those that nobody knows. */
const MAKERS: ReadonlyMap<string, Maker> = new Map<string, Maker>([
  ['$id', () => 'https://example.com/a'],
  ['$schema', () => 'https://json-schema.org/draft/2020-12/schema'],
  ['$ref', text],
  ['$anchor', ({ pick }) => pick(['a', '_a-1.b'])],
  ['$dynamicRef', text],
  ['$dynamicAnchor', () => 'a'],
  ['$comment', text],
  ['$defs', schemaMap],
  ['definitions', schemaMap],
  ['prefixItems', schemaList],
  ['items', schema],
  ['contains', schema],
  ['additionalProperties', schema],
  ['properties', schemaMap],
  ['patternProperties', schemaMap],
  ['dependentSchemas', schemaMap],
  ['propertyNames', schema],
  ['if', schema],
  ['then', schema],
  ['else', schema],
  ['allOf', schemaList],
  ['anyOf', schemaList],
  ['oneOf', schemaList],
  ['not', schema],
  ['unevaluatedItems', schema],
  ['unevaluatedProperties', schema],
  ['type', ({ pick }) => pick(['object', 'array', 'string', ['integer', 'null'], ['number', 'boolean']])],
  ['const', value],
  ['enum', ({ pick }) => pick([[], ['a', 1, null], [1, 1]])],
  ['multipleOf', ({ pick }) => pick([0.1, 5])],
  ['maximum', number],
  ['exclusiveMaximum', number],
  ['minimum', number],
  ['exclusiveMinimum', number],
  ['maxLength', count],
  ['minLength', count],
  ['pattern', text],
  ['maxItems', count],
  ['minItems', count],
  ['uniqueItems', flag],
  ['maxContains', count],
  ['minContains', count],
  ['maxProperties', count],
  ['minProperties', count],
  ['required', names],
  ['dependentRequired', draw => ({ a: names(draw) })],
  ['title', text],
  ['description', text],
  ['default', value],
  ['deprecated', flag],
  ['readOnly', flag],
  ['writeOnly', flag],
  ['examples', ({ pick }) => pick([[], [1, 'a', {}]])],
  ['format', text],
  ['contentEncoding', text],
  ['contentMediaType', text],
  ['contentSchema', schema],
  ['x-remark', value],
])

/** Every keyword that a random schema may have. */
export const KEYWORDS: readonly string[] = [...MAKERS.keys()]
