import { describe, expect, it } from 'vitest'
import { createSchemaCompiler } from './index.ts'

const { relax, accept, check, compile } = createSchemaCompiler()

describe('a schema that someone else wrote, relaxed', () => {
  it('of draft 4 has its exclusive limits as today', () => {
    const relaxed = relax({
      $schema: 'http://json-schema.org/draft-04/schema#',
      type: 'object',
      properties: {
        a: { minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
        exclusiveMinimum: { type: 'boolean' },
      },
    })
    expect(relaxed).toEqual({
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { a: { exclusiveMinimum: 1, maximum: 9 }, exclusiveMinimum: { type: 'boolean' } },
    })
    expect(check(relaxed)).toEqual([])
  })

  it('has no patterns that nothing here understands, and all others', () => {
    const relaxed = relax({
      properties: { pattern: { type: 'string', pattern: '(?>a)++' }, b: { pattern: '^b' } },
      patternProperties: { '(?>x)++': {}, '^y': {} },
      default: { pattern: '(?>a)++' },
    })
    expect(relaxed).toEqual({
      properties: { pattern: { type: 'string' }, b: { pattern: '^b' } },
      patternProperties: { '^y': {} },
      default: { pattern: '(?>a)++' },
    })
    expect(compile(relaxed)({ b: 'a' }).ok).toBe(false)
  })

  it.each([
    ['an exclusive limit as a flag', { minimum: 1, exclusiveMinimum: true }, { exclusiveMinimum: 1 }],
    [
      'a property that is required by itself',
      { properties: { a: { required: true }, b: { required: false }, required: true } },
      { properties: { a: {}, b: {}, required: true }, required: ['a'] },
    ],
    [
      'items as a list',
      { items: [{ type: 'string' }], additionalItems: false },
      { prefixItems: [{ type: 'string' }], items: false },
    ],
    [
      'a reference to itself by name',
      { $id: 'http://example.com/a#', properties: { a: { $ref: 'http://example.com/a#/$defs/b' } }, $defs: { b: {} } },
      { $id: 'http://example.com/a#', properties: { a: { $ref: '#/$defs/b' } }, $defs: { b: {} } },
    ],
  ])('has %s as today, whatever it says of its draft', (_what, schema, relaxed) => {
    expect(relax(schema)).toEqual(relaxed)
    expect(check(relaxed)).toEqual([])
  })

  it.each([
    ['an unknown type', { type: 'any', maximum: 3 }, { maximum: 3 }],
    ['a list of properties', { properties: [], additionalProperties: false }, {}],
    [
      'a property that is nothing',
      { properties: { a: null, b: { type: 'string' } } },
      { properties: { a: {}, b: { type: 'string' } } },
    ],
    [
      'a reference to nowhere',
      { properties: { a: { $ref: '#/$defs/x', type: 'string' } } },
      { properties: { a: { type: 'string' } } },
    ],
    ['what must not hold', { not: { type: 'any' }, maximum: 3 }, { maximum: 3 }],
    ['a condition', { if: { type: 'any' }, ...JSON.parse('{"then": false}'), maximum: 3 }, { maximum: 3 }],
    ['one of several', { oneOf: [{ type: 'any' }, {}], maximum: 3 }, { maximum: 3 }],
    ['any of several', { anyOf: [{ type: 'any' }, { type: 'null' }] }, { anyOf: [{}, { type: 'null' }] }],
    ['what is left over', { allOf: [{ properties: [] }], unevaluatedProperties: false }, { allOf: [{}] }],
    ['itself', { $ref: '#' }, {}],
    [
      'fifty wrong things',
      { allOf: Array.from({ length: 50 }, () => ({ type: 'any' })) },
      { allOf: Array.from({ length: 50 }, () => ({})) },
    ],
  ])('is accepted without the part that is wrong, and accepts no less: %s', (_what, schema, accepted) => {
    const { schema: usable, unchecked } = accept(schema)
    expect(usable).toEqual(accepted)
    expect(unchecked.length).toBeGreaterThan(0)
    expect(check(usable)).toEqual([])
  })

  it('is left as it is where it is nested without end', () => {
    let schema: Record<string, unknown> = {}
    for (let depth = 0; depth < 100_000; depth++) schema = { items: schema }
    expect(check(relax(schema))).toMatchObject([{ message: expect.stringContaining('deeper than') }])
  })
})
