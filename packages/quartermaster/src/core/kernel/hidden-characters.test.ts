import { expect, it } from 'vitest'
import { withoutHidden } from './index.ts'

it('writes out what cannot be seen in JSON, and leaves its value as it was', () => {
  const value = { 'a\u202e': 'b\u200b c\u00a0\u{e0041}', lines: 'one\ntwo' }
  const text = withoutHidden(JSON.stringify(value, null, 2))
  expect(text).toBe('{\n  "a\\u202e": "b\\u200b c\\u00a0\\udb40\\udc41",\n  "lines": "one\\ntwo"\n}')
  expect(JSON.parse(text)).toEqual(value)
})
