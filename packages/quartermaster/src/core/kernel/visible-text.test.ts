import { expect, it } from 'vitest'
import { escapeLine } from './index.ts'

it.each([
  ['one line of many', 'a \r\n\t b\n\nc', 'a b c'],
  ['spaces as they are', 'a  b ', 'a  b '],
  ['commands to a screen as text', 'a\u001b[31mb\u202ec', 'a\\x1b[31mb\\u{202e}c'],
  [
    'the unseen seen, and leaves what scripts and emoji need',
    'a\u200bb\u2060 क्\u200dष 👩\u200d🚀',
    'a\\u{200b}b\\u{2060} क्\u200dष 👩\u200d🚀',
  ],
  [
    'what is never shown seen',
    'a\u2065\ufff9\u{1d173}\u{e0080}\uffffb',
    'a\\u{2065}\\u{fff9}\\u{1d173}\\u{e0080}\\u{ffff}b',
  ],
  ['a hyphen and a letter that are not there seen', 'pass\u00adword\u2800', 'pass\\xadword\\u{2800}'],
])('makes %s', (_what, text, line) => {
  expect(escapeLine(text)).toBe(line)
})

// Each space was a start that was followed to the end of the run: a second for ten thousand, and hours for this.
it('reads a megabyte of spaces in one go', () => {
  const spaces = ' '.repeat(1_048_576)
  expect(escapeLine(spaces)).toBe(spaces)
})
