import { expect, it } from 'vitest'
import { isBlank } from './index.ts'

it.each([
  '',
  ' \t\n',
  '\u00a0\u3000\u2028',
  '\u200b\u2060\ufeff',
  '\u2800',
  '\u3164\u00ad\u115f',
  '\u202e\u2069',
  '\u0007',
  '\u{e0041}',
])('is blank: %j', text => {
  expect(isBlank(text)).toBe(true)
})

it.each(['.', '\u200b.', '👍', '❤️', '你', 'é', '\u0301', '\u{1f3f4}\u{e0067}\u{e007f}'])('says something: %j', text => {
  expect(isBlank(text)).toBe(false)
})
