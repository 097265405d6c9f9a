import { describe, expect, it } from 'vitest'
import type { Issue, JsonSchema } from '../../contracts/index.ts'
import { createSchemaCompiler } from './index.ts'

const { compile } = createSchemaCompiler()

function issues(schema: JsonSchema, value: unknown): Issue[] {
  const validated = compile(schema)(value)
  return validated.ok ? [] : validated.issues
}

function told(schema: JsonSchema, value: unknown): string[] {
  return issues(schema, value).map(({ path, message }) => `${path.join('.')}: ${message}`)
}

const trip = {
  type: 'object',
  properties: {
    city: { type: 'string', minLength: 1 },
    days: { type: 'integer', minimum: 1, maximum: 14 },
    units: { enum: ['metric', 'imperial'] },
    when: { type: 'string', format: 'date-time' },
    stops: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } },
  },
  required: ['city'],
  additionalProperties: false,
} as const

describe('validating a value', () => {
  it('gives back the very value, unchanged and without defaults filled in', () => {
    const value = Object.freeze({ a: 1 })
    const validated = compile({ properties: { a: { type: 'integer' }, b: { default: 2 } } })(value)
    expect(validated).toEqual({ ok: true, value: { a: 1 } })
    expect(validated.ok && validated.value).toBe(value)
  })

  it('tells everything that is wrong at once, with the place and what would be right', () => {
    const value = { ctiy: 'Oslo', days: 0, units: 'metrik', when: 'tomorrow', stops: [{ name: 'a' }, { name: 5 }, {}] }
    expect(told(trip, value)).toEqual([
      'city: is missing (a string).',
      'ctiy: is not a known property. Did you mean "city"?',
      'days: must be at least 1.',
      'units: must be one of "metric" or "imperial". Did you mean "metric"?',
      'when: must be a date and time with its zone, such as 2026-01-31T12:30:00Z.',
      'stops.1.name: must be a string, not a number.',
      'stops.2.name: is missing (a string).',
    ])
  })

  it('lists the known properties where none is close', () => {
    expect(told(trip, { city: 'Oslo', zzzzzzzz: 1 })).toEqual([
      'zzzzzzzz: is not a known property. Known are "city", "days", "units", "when", "stops".',
    ])
    expect(told({ additionalProperties: false }, { a: 1 })).toEqual(['a: is not a known property. None are.'])
    const split = { allOf: [{ properties: { first: {} } }], unevaluatedProperties: false }
    expect(told(split, { frist: 1 })).toEqual(['frist: is not a known property. Did you mean "first"?'])
  })

  it('says what a value is and what it must be', () => {
    expect(told({ type: 'object' }, 'x')).toEqual([': must be an object, not a string.'])
    expect(told({ type: ['string', 'null'] }, [])).toEqual([': must be a string or null, not an array.'])
    expect(told({ properties: { a: { type: 'string', enum: ['x'] } } }, { a: 5 })).toEqual(['a: must be one of "x".'])
    expect(told({ properties: { a: false } }, { a: 5 })).toEqual(['a: is not allowed.'])
    expect(told({ const: { a: 1 } }, 5)).toEqual([': must be {"a":1}.'])
  })

  it('has words for every limit', () => {
    const cases: [JsonSchema, unknown, string][] = [
      [{ minLength: 1 }, '', 'must not be empty.'],
      [{ minLength: 3 }, 'ab', 'must have at least 3 characters.'],
      [{ maxLength: 1 }, 'ab', 'must have at most 1 character.'],
      [{ maximum: 3 }, 4, 'must be at most 3.'],
      [{ exclusiveMaximum: 3 }, 3, 'must be less than 3.'],
      [{ exclusiveMinimum: 3 }, 3, 'must be greater than 3.'],
      [{ multipleOf: 5 }, 7, 'must be a multiple of 5.'],
      [{ minItems: 1 }, [], 'must have at least 1 item.'],
      [{ maxItems: 1 }, [1, 2], 'must have at most 1 item.'],
      [{ prefixItems: [{}], items: false }, [1, 2], 'must have at most 1 item.'],
      [{ uniqueItems: true }, [1, 2, 1], 'must not repeat itself: items 0 and 2 are equal.'],
      [{ minProperties: 2 }, {}, 'must have at least 2 properties.'],
      [{ maxProperties: 0 }, { a: 1 }, 'must have at most 0 properties.'],
      [{ contains: { const: 1 } }, [2, 3], 'must have at least 1 of the items described by {"const":1}.'],
      [{ not: { const: 1 } }, 1, 'is one of the values that are excluded: {"const":1}.'],
      [{ pattern: '^a$' }, 'b', 'must match the pattern ^a$'],
      [{ propertyNames: { maxLength: 1 } }, { ab: 1 }, 'The property name "ab" must have at most 1 character.'],
      [{ if: false, else: { minLength: 1 } }, '', 'must not be empty.'],
    ]
    for (const [schema, value, message] of cases) expect(issues(schema, value)).toEqual([{ path: [], message }])
    expect(told({ dependentRequired: { a: ['b'] } }, { a: 1 })).toEqual(['b: is missing when "a" is there.'])
  })

  it('decodes the path: slashes and tildes in names, numbers only for positions in arrays', () => {
    const schema = { additionalProperties: { additionalProperties: { items: { type: 'string' } } } }
    expect(issues(schema, { 'a/b~c': { '0': [1] } })[0]?.path).toEqual(['a/b~c', '0', 0])
  })

  it('never repeats the value itself', () => {
    const schema = {
      properties: { token: { type: 'string', pattern: '^x', maxLength: 3, format: 'uuid', enum: ['x'] } },
    }
    expect(JSON.stringify(issues(schema, { token: 'hunter2-secret' }))).not.toContain('hunter2')
  })

  it('tells each issue once, so many at most, and then how many more', () => {
    expect(issues({ allOf: [{ required: ['a'] }, { required: ['a'] }] }, {})).toHaveLength(1)
    const many = issues(
      { items: { type: 'string' } },
      Array.from({ length: 50 }, () => 1),
    )
    expect(many).toHaveLength(20)
    expect(many[19]).toEqual({ path: [], message: 'There are 31 more issues.' })
  })

  it('tells only the first issue of a huge value instead of collecting thousands', () => {
    const schema = { items: { $ref: '#/$defs/name' }, $defs: { name: { type: 'string' } } }
    expect(
      issues(
        schema,
        Array.from({ length: 100_000 }, () => 1),
      ),
    ).toEqual([{ path: [0], message: 'must be a string, not a number.' }])
  })

  it('tells apart what differs and finds what is equal, in unique items and in enums', () => {
    const long = (middle: string) => `${'a'.repeat(100)}${middle}${'z'.repeat(100)}`
    const different: unknown[] = [
      1,
      '1',
      true,
      null,
      0.5,
      -0.5,
      [],
      {},
      [1],
      ['1'],
      [[1]],
      { a: 1 },
      { a: '1' },
      { b: 1 },
      { a: 1, b: 1 },
    ]
    const apart: unknown[] = [
      ...different,
      { a: { b: [1] } },
      { a: { b: [2] } },
      { t: long('x') },
      { t: long('y') },
      { toString: 1 },
      { a: 1e300 },
    ]
    expect(issues({ uniqueItems: true }, apart)).toEqual([])
    const again = (first: unknown, second: unknown) => told({ uniqueItems: true }, [...apart, first, 'other', second])
    const [i, j] = [apart.length, apart.length + 2]
    const equal: [unknown, unknown][] = [
      [
        { p: 1, q: [2, { r: null }] },
        { q: [2, { r: null }], p: 1 },
      ],
      [{ t: long('v') }, { t: long('v') }],
      [0, -0],
      [{ n: 0 }, { n: -0 }],
      [{ constructor: [] }, { constructor: [] }],
    ]
    for (const [first, second] of equal) {
      expect(again(first, second)).toEqual([`: must not repeat itself: items ${i} and ${j} are equal.`])
      expect(issues({ enum: [...apart, first] }, second)).toEqual([])
    }
    for (const [at, item] of apart.entries())
      expect(issues({ enum: apart.filter((_, other) => other !== at) }, item)).toHaveLength(1)
  })

  it('answers for a value that is nested without end', () => {
    let deep: unknown = {}
    for (let i = 0; i < 100_000; i++) deep = { next: deep }
    expect(issues({ properties: { next: { $ref: '#' } } }, deep)).toEqual([
      { path: [], message: 'The value is nested too deeply to be checked.' },
    ])
  })

  it('is not fooled by names that every object inherits', () => {
    expect(told({ required: ['constructor', 'toString'] }, {})).toHaveLength(2)
    expect(told({ properties: { constructor: { type: 'string' } } }, {})).toEqual([])
    const polluted = JSON.parse('{ "__proto__": { "admin": true } }')
    expect(told({ additionalProperties: false }, polluted)).toEqual(['__proto__: is not a known property. None are.'])
    expect(told({ properties: { admin: {} }, unevaluatedProperties: false }, polluted)).toHaveLength(1)
    expect(told({ required: ['admin'] }, polluted)).toEqual(['admin: is missing.'])
    expect(told({ const: { a: 1 } }, { toString: 1 })).toEqual([
      ': The value cannot be checked; leave out properties such as "toString".',
    ])
    expect(({} as { admin?: boolean }).admin).toBeUndefined()
  })

  it('checks formats, and takes unknown ones as remarks', () => {
    const valid = {
      email: 'a@example.com',
      uri: 'https://example.com',
      uuid: '2fb6c9f0-5d52-4f0e-9f3f-0d3a3b1c9a11',
      date: '2026-02-28',
    }
    for (const [format, value] of Object.entries(valid)) {
      expect(issues({ format }, value)).toEqual([])
      expect(issues({ format }, 'no such thing')).toHaveLength(1)
    }
    expect(issues({ format: 'date' }, '2026-02-30')).toHaveLength(1)
    expect(issues({ format: 'email', pattern: '^.+@.+$' }, 'x')).toEqual([
      { path: [], message: 'must be an e-mail address.' },
    ])
    expect(issues({ format: 'postcode' }, 'x')).toEqual([])
  })

  it('gives no power to keywords that only the library behind it knows', () => {
    expect(issues({ $async: true, type: 'string' }, 5)).toHaveLength(1)
  })
})
