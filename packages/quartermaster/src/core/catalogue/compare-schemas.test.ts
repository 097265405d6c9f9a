import { describe, expect, it } from 'vitest'
import { createSchemaCompiler } from '../../adapters/json-schema/index.ts'
import type { JsonSchema } from '../../contracts/index.ts'
import { findWidenings } from './compare-schemas.ts'

const compiler = createSchemaCompiler()
const compare = (narrow: unknown, wide: unknown, root: JsonSchema = {}) =>
  findWidenings(narrow, wide, { compiler, root }).map(({ path, message }) => `${path.join('.')} ${message}`.trim())

const string = { type: 'string' }
const point = { type: 'object', properties: { x: { type: 'number' }, y: { type: 'number' } }, required: ['x'] }

describe('a schema', () => {
  it.each<[string, unknown, unknown]>([
    ['the same one', { ...string, pattern: '^a' }, { pattern: '^a', ...string }],
    ['one in other words for people', { ...string, description: 'mine' }, { ...string, description: 'theirs' }],
    ['numbers, of integers', { type: 'integer' }, { type: 'number' }],
    ['several types, of one', string, { type: ['string', 'null'] }],
    ['fewer values', { enum: ['a', 'b'] }, { enum: ['a', 'b', 'c'] }],
    ['one value', { const: 3 }, { type: 'integer', minimum: 3 }],
    ['closer bounds', { type: 'number', minimum: 2, maximum: 3 }, { type: 'number', minimum: 1, maximum: 3 }],
    ['any integer, as libraries say it', { type: 'integer' }, { type: 'integer', minimum: -Number.MAX_SAFE_INTEGER }],
    ['one of several', string, { anyOf: [string, { type: 'number' }] }],
    ['all of several', { ...string, minLength: 2 }, { allOf: [string, { minLength: 1 }] }],
    ['items that are narrower', { type: 'array', items: { const: 'a' } }, { type: 'array', items: string }],
    [
      'an object with fewer properties',
      { ...point, properties: { x: { type: 'integer' } }, additionalProperties: false },
      point,
    ],
    [
      'texts by any name',
      { type: 'object', properties: { a: string }, additionalProperties: false },
      { type: 'object', additionalProperties: string },
    ],
  ])('fits into %s', (_what, narrow, wide) => {
    expect(compare(narrow, wide)).toEqual([])
  })

  it.each<[string, unknown, unknown, string]>([
    ['another type', { type: 'number' }, string, 'type is "number", and the op takes string'],
    ['no type', {}, string, 'type is needed; the op takes string'],
    ['no values where only some are taken', string, { ...string, enum: ['a'] }, 'enum is needed; the op takes "a"'],
    [
      'another pattern',
      { ...string, pattern: 'b' },
      { ...string, pattern: 'a' },
      'pattern must be "a", as the op has it',
    ],
    [
      'more than one of several',
      { anyOf: [string, { type: 'null' }] },
      { anyOf: [string, { type: 'number' }] },
      'takes more than the op does',
    ],
    [
      'a type that none of several has',
      { type: 'boolean', anyOf: [string, { type: 'number' }] },
      { anyOf: [string, { type: 'number' }] },
      'type is "boolean", and the op takes string or number',
    ],
    [
      'other items',
      { type: 'array', items: {} },
      { type: 'array', items: string },
      'items.type is needed; the op takes string',
    ],
    [
      'an object without what is needed',
      { ...point, required: [] },
      point,
      'required must have "x", which the op needs',
    ],
    [
      'an object of whatever',
      { type: 'object', required: ['x'] },
      point,
      'additionalProperties must be false: the op does not take everything',
    ],
    [
      'nothing that can be compared',
      { type: 'object' },
      { $ref: 'elsewhere' },
      'cannot be compared with what the op takes',
    ],
  ])('that has %s does not fit', (_what, narrow, wide, message) => {
    expect(compare(narrow, wide)).toContain(message)
  })

  it('is compared with what a reference leads to, however deep, and not without end', () => {
    const root = { $defs: { name: { ...string, maxLength: 3 } } }
    const circle = { $defs: { circle: { $ref: '#/$defs/circle' } } }
    expect(compare({ ...string, maxLength: 2 }, { $ref: '#/$defs/name' }, root)).toEqual([])
    expect(compare(string, { $ref: '#/$defs/name' }, root)).toEqual(['maxLength must be at most 3, as the op has it'])
    expect(compare({ const: 'long' }, { $ref: '#/$defs/name' }, root)).toEqual([
      'has "long", which the op does not take',
    ])
    expect(compare(string, { $ref: '#/$defs/circle' }, circle)).toEqual(['cannot be compared with what the op takes'])
  })
})
