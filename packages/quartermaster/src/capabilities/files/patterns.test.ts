import { describe, expect, it } from 'vitest'
import { createGlob } from './patterns.ts'

describe('a glob', () => {
  it.each([
    ['*.md', 'a.md', true],
    ['*.md', 'deep/down/a.md', true],
    ['*.md', 'a.md.txt', false],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/deep/a.ts', false],
    ['src/**/*.ts', 'src/a.ts', true],
    ['src/**/*.ts', 'src/deep/down/a.ts', true],
    ['**/test/**', 'a/test/b', true],
    ['./src/*.ts', 'src/a.ts', true],
    ['*.{ts,js}', 'a.js', true],
    ['*.{ts,js}', 'a.css', false],
    ['[a-c].md', 'b.md', true],
    ['[!a-c].md', 'b.md', false],
    ['[!a-c].md', 'd.md', true],
    ['[]x].md', ']', false],
    ['a.b', 'axb', false],
    ['(a|b)+', '(a|b)+', true],
    ['a[b', 'a[b', true],
    ['a{b', 'a{b', true],
    ['\\', '\\', true],
    ['*', '.hidden', true],
    ['übung*', 'übung.md', true],
  ])('%s against %s: %s', (pattern, path, expected) => {
    expect(createGlob(pattern)(path)).toBe(expected)
  })

  it('takes no longer for patterns made to be slow', () => {
    expect(createGlob(`${'*a'.repeat(90)}b`)('a'.repeat(4000))).toBe(false)
  })
})
