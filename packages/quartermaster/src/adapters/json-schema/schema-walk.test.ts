import { describe, expect, it } from 'vitest'
import type { Issue } from '../../contracts/index.ts'
import { compileMetaSchema } from './ajv.ts'
import { walkSchema } from './schema-walk.ts'
import { KEYWORDS, randomSchema, SAMPLES, seededRandom } from './testing/random-schema.ts'

const metaSchema = compileMetaSchema('2020-12')

const limits = { maxBytes: 100_000, maxDepth: 64 }

type Schema = Record<string, unknown>

function faultsOf(schema: Schema): readonly Issue[] {
  const { unbearable, unjudged, faults } = walkSchema(schema, { limits, judging: true })
  if (unbearable || unjudged) throw new Error(`The walk does not judge ${JSON.stringify(schema)}.`)
  return faults
}

/** The schemas that one of the two accepts and the other refuses. */
function disagreements(schemas: readonly Schema[]): Schema[] {
  return schemas.filter(schema => (faultsOf(schema).length === 0) !== (metaSchema.find(schema).length === 0))
}

function told(schema: Schema): string[] {
  return faultsOf(schema).map(({ path, message }) => `${path.join('.')}: ${message}`)
}

/** A list that is long and has nothing in it. */
function gaps(length: number): unknown[] {
  return Object.assign([], { length })
}

describe('the walk over a schema and the meta-schema', () => {
  it('agree on every keyword with every kind of value', () => {
    const schemas = KEYWORDS.flatMap(keyword => SAMPLES.map(sample => ({ [keyword]: sample })))
    expect(disagreements(schemas)).toEqual([])
  })

  it('agree on what is inside every keyword that holds schemas, and every one that does not', () => {
    const holders = KEYWORDS.flatMap(keyword => [
      (inner: unknown) => ({ [keyword]: inner }),
      (inner: unknown) => ({ [keyword]: [inner] }),
      (inner: unknown) => ({ [keyword]: { name: inner } }),
    ])
    const inner = [{ minLength: 1 }, { minLength: -1 }, { items: [] }, { properties: { a: { required: 'b' } } }]
    expect(disagreements(holders.flatMap(hold => inner.map(hold)))).toEqual([])
  })

  it('agree on values that are not there', () => {
    const absent: Schema[] = [
      ...KEYWORDS.map(keyword => ({ [keyword]: undefined })),
      ...KEYWORDS.map(keyword => ({ [keyword]: [undefined] })),
      ...KEYWORDS.map(keyword => ({ [keyword]: { a: undefined } })),
      { required: gaps(2) },
      { allOf: gaps(1) },
    ]
    expect(disagreements(absent)).toEqual([])
  })

  it('agree on schemas drawn at random, good and bad', () => {
    const random = seededRandom(2020)
    const schemas = Array.from({ length: 2000 }, () => randomSchema(random))
    expect(disagreements(schemas)).toEqual([])
    const refused = schemas.filter(schema => faultsOf(schema).length > 0).length
    expect(refused).toBeGreaterThan(200)
    expect(refused).toBeLessThan(1800)
  })
})

describe('what the walk says', () => {
  it('names the place, what is there and what may be', () => {
    const schema = {
      properties: { a: 5, b: { type: ['string', 'nul'] }, c: { required: ['x', 1] } },
      allOf: [],
      multipleOf: 0,
      $anchor: '1st',
      maxLength: 1.5,
      dependentRequired: { a: ['b', 'c', 'b'] },
    }
    expect(told(schema)).toEqual([
      '$anchor: must match the pattern ^[A-Za-z_][-A-Za-z0-9._]*$',
      'allOf: must have at least 1 item.',
      'properties.a: must be an object or a boolean, not a number.',
      'properties.b.type.1: must be one of "array", "boolean", "integer", "null", "number", "object" or "string". Did you mean "null"?',
      'properties.c.required.1: must be a string, not a number.',
      'multipleOf: must be greater than 0.',
      'maxLength: must be an integer, not a number.',
      'dependentRequired.a: must not repeat itself: items 0 and 2 are equal.',
    ])
  })

  it('is the same however the schema is written', () => {
    const forwards = { type: 5, required: 5, items: { minimum: '1', title: 1 }, $defs: [] }
    const backwards = { $defs: [], items: { title: 1, minimum: '1' }, required: 5, type: 5 }
    expect(told(forwards)).toHaveLength(5)
    expect(told(backwards)).toEqual(told(forwards))
  })

  it('does not judge what stands in data, in remarks or in something wrong', () => {
    const wrong = { type: 'strin', properties: 5 }
    expect(told({ default: wrong, const: wrong, enum: [wrong], examples: [wrong], 'x-own': wrong })).toEqual([])
    expect(told({ properties: [wrong] })).toEqual(['properties: must be an object, not an array.'])
  })

  it('ends before it looks through a list without end', () => {
    const { unbearable } = walkSchema({ required: gaps(2 ** 32 - 1) }, { limits, judging: true })
    expect(unbearable?.message).toContain('larger than 100000 bytes')
  })
})
