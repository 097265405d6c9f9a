import { describe, expect, it } from 'vitest'
import { excerptOf, showHidden } from './index.ts'

describe('a text for someone who must see what is there', () => {
  it.each([
    ['a zero width space', 'a\u200bb', 'a\\u{200b}b'],
    ['a terminal sequence', '\u001b[31mred', '\\u{1b}[31mred'],
    ['an override of the reading order', '\u202eabc', '\\u{202e}abc'],
    ['tag characters', 'x\u{e0041}', 'x\\u{e0041}'],
    ['half a character', 'x\ud800', 'x\\u{d800}'],
    ['a space that is none', 'a\u00a0b', 'a\\u{a0}b'],
    ['selectors that belong to nothing', 'a\ufe01', 'a\\u{fe01}'],
  ])('writes out %s', (_what, text, expected) => {
    expect(showHidden(text)).toBe(expected)
  })

  it.each([
    'plain',
    'line\nbreak\tand tab',
    'Zoë, 漢字, עברית',
    '👩‍💻 ⚠️ 1️⃣ 🏳️‍🌈 👍🏽',
    '\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
  ])('leaves %j alone', text => {
    expect(showHidden(text)).toBe(text)
  })

  it('is one short line as an excerpt', () => {
    expect(excerptOf('a\n\n  b\u200b')).toBe('a b\\u{200b}')
    expect(excerptOf('x'.repeat(1_000))).toBe(`${'x'.repeat(159)}…`)
  })
})
