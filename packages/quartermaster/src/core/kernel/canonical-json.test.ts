import { expect, it } from 'vitest'
import { canonicalJson } from './index.ts'

it('gives equal values equal texts, whatever the order of their keys', () => {
  expect(canonicalJson({ b: [1, { d: null, c: 'x' }], a: true })).toBe('{"a":true,"b":[1,{"c":"x","d":null}]}')
  expect(canonicalJson({ a: true, b: [1, { c: 'x', d: null }] })).toBe('{"a":true,"b":[1,{"c":"x","d":null}]}')
})

it.each([
  [undefined, 'null'],
  [null, 'null'],
  ['\u2028"', '"\u2028\\""'],
  [{ a: undefined, b: () => 1 }, '{}'],
  [[undefined, () => 1], '[null,null]'],
  [{ at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
  [{ '10': 1, '9': 2 }, '{"10":1,"9":2}'],
  [Number.NaN, 'null'],
])('leaves out what JSON cannot say: %j', (value, text) => {
  expect(canonicalJson(value)).toBe(text)
})
