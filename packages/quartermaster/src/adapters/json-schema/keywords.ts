import { HOLDINGS, type Holding } from './dialect.ts'
import {
  anything,
  count,
  flag,
  isObject,
  list,
  listOf,
  mapOf,
  matching,
  names,
  number,
  positive,
  type Shape,
  text,
  typed,
  wordOrWords,
} from './shape.ts'

/** A schema of 2020-12. A keyword that is `undefined` is not there; one that nobody knows is a remark (core §4.3.1). */
export const schemaShape: Shape = {
  check: typed(['object', 'boolean'], value => isObject(value) || typeof value === 'boolean'),
  inside: (key, child) => (child === undefined ? anything : (KEYWORDS.get(key) ?? anything)),
}

/** Keywords too rare to be described here; a schema that has one is left to Ajv and the meta-schema. */
export const leftToAjv: Shape = { check: () => undefined, inside: () => anything }

/** Where a keyword stands in the table, in whose order faults are told. */
export function rankOf(keyword: string | number | undefined): number {
  return RANKS.get(keyword) ?? RANKS.size
}

/** Core §8.2.2: letters, digits and a few signs, so that it can stand in a reference as it is. */
const anchor = matching(/^[A-Za-z_][-A-Za-z0-9._]*$/u)

/** Core §8.2.1: a fragment would name a place inside the schema rather than the schema. */
const id = matching(/^[^#]*#?$/u)

const HELD = {
  one: schemaShape,
  list: listOf(schemaShape),
  map: mapOf(schemaShape),
} as const satisfies Record<Holding, Shape>

/** What the 2020-12 meta-schema says of every keyword, vocabulary by vocabulary. */
const KEYWORDS: ReadonlyMap<string | number, Shape> = new Map<string | number, Shape>([
  ['$id', id],
  ['$schema', text],
  ['$ref', text],
  ['$anchor', anchor],
  ['$dynamicRef', text],
  ['$dynamicAnchor', anchor],
  ['$vocabulary', leftToAjv],
  ['$comment', text],

  ...[...HOLDINGS['2020-12']].map(([keyword, holding]) => [keyword, HELD[holding]] as const),

  ['type', wordOrWords(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'])],
  ['const', anything],
  ['enum', list],
  ['multipleOf', positive],
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
  ['dependentRequired', mapOf(names)],

  ['title', text],
  ['description', text],
  ['default', anything],
  ['deprecated', flag],
  ['readOnly', flag],
  ['writeOnly', flag],
  ['examples', list],

  ['format', text],

  ['contentEncoding', text],
  ['contentMediaType', text],
  ['contentSchema', schemaShape],

  ['dependencies', leftToAjv],
  ['$recursiveAnchor', leftToAjv],
  ['$recursiveRef', leftToAjv],
])

const RANKS: ReadonlyMap<unknown, number> = new Map([...KEYWORDS.keys()].map((keyword, rank) => [keyword, rank]))
