import { describe, expect, it } from 'vitest'
import { createGlob } from './patterns.ts'

describe('a glob', () => {
  it.each([
    ['*.md', 'deep/down/a.md', true],
    ['*.md', 'a.md.txt', false],
    ['a?c', 'abc', true],
    ['src/*.ts', 'src/deep/a.ts', false],
    ['src/**/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/deep/down/a.ts', true],
    ['*.{ts,js}', 'a.js', true],
    ['[!a-c].md', 'b.md', false],
    ['[]x].md', ']', false],
    ['(a|b)+', '(a|b)+', true],
    ['a[b', 'a[b', true],
    ['*', '.hidden', true],
  ])('%s against %s: %s', (pattern, path, expected) => {
    expect(createGlob(pattern)(path)).toBe(expected)
  })

  it('takes no longer for patterns made to be slow', () => {
    expect(createGlob(`${'*a'.repeat(90)}b`)('a'.repeat(4000))).toBe(false)
  })
})
