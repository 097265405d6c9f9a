import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '../../contracts/index.ts'
import { createSchemaCompiler } from './index.ts'

const { check, compile } = createSchemaCompiler()

function fits(schema: JsonSchema, value: unknown): boolean {
  expect(check(schema)).toEqual([])
  return compile(schema)(value).ok
}

describe('references', () => {
  it('follow pointers, with everything that can be escaped in them', () => {
    const schema = {
      properties: {
        a: { $ref: '#/$defs/one~1two~0%25' },
        b: { $ref: '#/properties/a' },
        c: { $ref: '#/x-parts/0/deep' },
      },
      'x-parts': [{ deep: { type: 'number' } }],
      $defs: { 'one/two~%': { type: 'string' } },
    }
    expect(fits(schema, { a: 'x', b: 'y', c: 1 })).toBe(true)
    expect(fits(schema, { a: 1 })).toBe(false)
    expect(fits(schema, { b: 1 })).toBe(false)
    expect(fits(schema, { c: 'x' })).toBe(false)
  })

  it('follow anchors', () => {
    const schema = { items: { $ref: '#name' }, $defs: { x: { $anchor: 'name', type: 'string' } } }
    expect(fits(schema, ['a'])).toBe(true)
    expect(fits(schema, [1])).toBe(false)
  })

  it('follow dynamic anchors', () => {
    const schema = { items: { $dynamicRef: '#node' }, $defs: { x: { $dynamicAnchor: 'node', type: 'string' } } }
    expect(fits(schema, ['a'])).toBe(true)
    expect(fits(schema, [1])).toBe(false)
    const tree = {
      $dynamicAnchor: 'node',
      type: 'object',
      properties: { child: { $dynamicRef: '#node' } },
      required: ['v'],
    }
    expect(fits(tree, { v: 1, child: { v: 2 } })).toBe(true)
    expect(fits(tree, { v: 1, child: {} })).toBe(false)
  })

  it('lead the outermost schema to bind a dynamic anchor', () => {
    const list = { $id: 'list', items: { $dynamicRef: '#item' }, $defs: { any: { $dynamicAnchor: 'item' } } }
    expect(
      fits({ $defs: { own: { $dynamicAnchor: 'item', type: 'string' } }, properties: { list } }, { list: [1] }),
    ).toBe(false)
    expect(fits({ properties: { list } }, { list: [1] })).toBe(true)
  })

  it('count from the nearest schema with an id of its own', () => {
    const inner = { $id: 'https://example.com/inner', $ref: '#/$defs/x', $defs: { x: { type: 'number' } } }
    const schema = { properties: { a: inner, b: { $ref: '#/$defs/x' } }, $defs: { x: { type: 'string' } } }
    expect(fits(schema, { a: 1, b: 's' })).toBe(true)
    expect(fits(schema, { a: 's' })).toBe(false)
    expect(fits(schema, { b: 1 })).toBe(false)
  })

  it('apply together with what stands beside them', () => {
    const schema = {
      $ref: '#/$defs/short',
      $dynamicRef: '#text',
      pattern: '^a',
      $defs: { short: { maxLength: 2 }, t: { $dynamicAnchor: 'text', type: 'string' } },
    }
    expect(fits(schema, 'ab')).toBe(true)
    for (const value of ['abc', 'b', 1]) expect(fits(schema, value)).toBe(false)
  })

  it('may lead to the whole schema and to booleans', () => {
    const schema = {
      type: 'object',
      properties: { next: { $ref: '#' }, never: { $ref: '#/$defs/no' }, any: { $ref: '#/$defs/yes' } },
      $defs: { no: false, yes: true },
    }
    expect(fits(schema, { next: { next: {} }, any: 1 })).toBe(true)
    expect(fits(schema, { next: { next: 1 } })).toBe(false)
    expect(fits(schema, { never: 1 })).toBe(false)
  })

  it('never confuse two schemas that claim the same id', () => {
    const $id = 'https://example.com/same'
    const first = { $id, $ref: '#x', $defs: { a: { $anchor: 'x', type: 'string' } } }
    const second = { $id, $ref: '#x', $defs: { b: { $anchor: 'x', type: 'number' } } }
    expect([fits(first, 'a'), fits(second, 1), fits(first, 1), fits(second, 'a')]).toEqual([true, true, false, false])
  })

  it('mean in draft-07 what they meant there', () => {
    const $schema = 'http://json-schema.org/draft-07/schema#'
    const beside = {
      $schema,
      properties: { a: { $ref: '#named', maxLength: 1 } },
      definitions: { n: { $id: '#named', type: 'string' } },
    }
    expect(fits(beside, { a: 'long' })).toBe(true)
    expect(fits(beside, { a: 1 })).toBe(false)
    const tuple = { $schema, items: [{ type: 'string' }], additionalItems: false, dependencies: { a: ['b'] } }
    expect(fits(tuple, ['a'])).toBe(true)
    expect(fits(tuple, ['a', 'b'])).toBe(false)
    expect(fits(tuple, { a: 1 })).toBe(false)
  })
})
