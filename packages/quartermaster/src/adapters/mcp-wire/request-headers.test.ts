import { describe, expect, it } from 'vitest'
import { mirroredParameters } from '../../core/kernel/index.ts'
import { headerValue, parameterHeaders } from './index.ts'

describe('values of headers', () => {
  it.each([
    ['plain', 'plain'],
    ['two words\tand more', 'two words\tand more'],
    ['', '=?base64??='],
    [' edge', '=?base64?IGVkZ2U=?='],
    ['line\nbreak', '=?base64?bGluZQpicmVhaw==?='],
    ['ü', '=?base64?w7w=?='],
    ['=?base64?eA==?=', '=?base64?PT9iYXNlNjQ/ZUE9PT89?='],
  ])('of %j are %s', (text, value) => {
    expect(headerValue(text)).toBe(value)
  })
})

describe('arguments that are repeated as headers', () => {
  const schema = {
    properties: {
      a: { type: 'string', 'x-mcp-header': 'A' },
      b: { properties: { c: { type: 'integer', 'x-mcp-header': 'C' } } },
    },
  }
  const parameters = mirroredParameters(schema)

  it.each([
    { given: { a: 'x', b: { c: 3 } }, headers: { 'mcp-param-a': 'x', 'mcp-param-c': '3' } },
    { given: { a: false, b: { c: null } }, headers: { 'mcp-param-a': 'false' } },
    { given: { a: { deep: 1 }, b: { c: 2 ** 60 } }, headers: {} },
    { given: undefined, headers: {} },
  ])('of $given are $headers', ({ given, headers }) => {
    expect(parameterHeaders(parameters, given)).toEqual(headers)
  })
})
