import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '../../contracts/index.ts'
import { createSchemaCompiler } from './index.ts'

const { compile } = createSchemaCompiler()

function told(schema: JsonSchema, value: unknown): string[] {
  const validated = compile(schema)(value)
  return validated.ok ? [] : validated.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
}

const shape = {
  oneOf: [{ $ref: '#/$defs/circle' }, { $ref: '#/$defs/square' }],
  $defs: {
    circle: {
      type: 'object',
      properties: { kind: { const: 'circle' }, radius: { type: 'number' } },
      required: ['kind', 'radius'],
    },
    square: {
      type: 'object',
      properties: { kind: { const: 'square' }, side: { type: 'number' } },
      required: ['kind', 'side'],
    },
  },
}

describe('explaining alternatives', () => {
  it('speaks of the form that a property names, and of no other', () => {
    expect(told(shape, { kind: 'circle', radius: 'big' })).toEqual(['radius: must be a number, not a string.'])
    expect(told(shape, { kind: 'square' })).toEqual(['side: is missing (a number).'])
  })

  it('lists the names of the forms where none was named', () => {
    expect(told(shape, { kind: 'line' })).toEqual(['kind: must be one of "circle" or "square".'])
    expect(told({ anyOf: [{ const: 'a' }, { enum: ['b', 'c'] }] }, 'd')).toEqual([': must be one of "a", "b" or "c".'])
  })

  it('joins types into one sentence', () => {
    const schema = { properties: { id: { anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'null' }] } } }
    expect(told(schema, { id: true })).toEqual(['id: must be a string, an integer or null, not a boolean.'])
  })

  it('speaks of the form that has the right type', () => {
    const schema = {
      anyOf: [
        { type: 'string', minLength: 3 },
        { type: 'array', items: { type: 'string' } },
      ],
    }
    expect(told(schema, ['a', 5])).toEqual(['1: must be a string, not a number.'])
    expect(told(schema, 'ab')).toEqual([': must have at least 3 characters.'])
  })

  it('gives the reasons of each form where nothing tells them apart', () => {
    expect(told({ anyOf: [{ required: ['city'] }, { required: ['lat', 'lon'] }] }, {})).toEqual([
      ': fits none of the allowed forms. (1) city is missing. (2) lat is missing. lon is missing.',
    ])
  })

  it('says so when more than one form fits where only one may', () => {
    expect(told({ oneOf: [{ type: 'number' }, { minimum: 1 }] }, 5)).toEqual([
      ': fits more than one of the allowed forms; only one may fit.',
    ])
  })

  it('handles alternatives inside alternatives', () => {
    const schema = {
      anyOf: [{ type: 'null' }, { type: 'object', properties: { shape: { $ref: '#/$defs/shape' } } }],
      $defs: { shape, ...shape.$defs },
    }
    expect(told(schema, { shape: { kind: 'circle' } })).toEqual(['shape.radius: is missing (a number).'])
  })

  it('finds the wrong one among thousands, also where it looks no further than that', () => {
    const circles = (count: number) => Array.from({ length: count }, () => ({ kind: 'circle', radius: 1 }))
    const schema = { items: shape, $defs: shape.$defs }
    expect(told(schema, [...circles(2000), { kind: 'circle' }])).toEqual(['2000.radius: is missing (a number).'])
    expect(told(schema, [...circles(200_000), { kind: 'circle' }])).toEqual([
      '200000: fits none of the allowed forms. (1) 200000.radius is missing (a number). (2) 200000.side is missing (a number).',
    ])
  })

  it('keeps what is wrong beside the alternatives', () => {
    const schema = { type: 'object', required: ['id'], anyOf: [{ required: ['a'] }, { required: ['b'] }] }
    expect(told(schema, {})).toEqual([
      ': fits none of the allowed forms. (1) a is missing. (2) b is missing.',
      'id: is missing.',
    ])
  })
})
