import { describe, expect, it } from 'vitest'
import { mirroredParameters, mirroredText } from './index.ts'

const schema = {
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    order: { properties: { count: { type: 'integer', 'x-mcp-header': 'Count' } } },
    bad: { type: 'string', 'x-mcp-header': 'no blanks' },
    list: { type: 'array', items: { 'x-mcp-header': 'Item' } },
  },
}

describe('arguments that are repeated in headers', () => {
  it('are those that are marked, at any depth that properties alone lead to', () => {
    expect(mirroredParameters(schema)).toEqual([
      { header: 'Region', path: ['region'], isNumber: false },
      { header: 'Count', path: ['order', 'count'], isNumber: true },
    ])
    expect(mirroredParameters(undefined)).toEqual([])
    expect(mirroredParameters({ 'x-mcp-header': 'All', properties: [] })).toEqual([])
  })

  it.each([
    ['north', 'north'],
    [false, 'false'],
    [1.5, '1.5'],
    [3, '3'],
    [2 ** 60, undefined],
    [null, undefined],
    [{ deep: 1 }, undefined],
  ])('say %j as %j', (value, text) => {
    expect(mirroredText({ path: ['a', 'b'] }, { a: { b: value } })).toBe(text)
  })

  it('are taken from the arguments themselves and from nothing behind them', () => {
    expect(mirroredText({ path: ['constructor', 'name'] }, {})).toBeUndefined()
    expect(mirroredText({ path: ['a', 'b'] }, { a: 'text' })).toBeUndefined()
  })
})
