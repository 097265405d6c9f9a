import { describe, expect, it } from 'vitest'
import { fieldsAsData, frontMatterOf, joinLines, splitLines, withField } from './markdown.ts'

const dataOf = (text: string) => {
  const matter = frontMatterOf(splitLines(text))
  return matter && fieldsAsData(matter)
}

const set = (text: string, key: string, value: string | string[] | undefined) => {
  const lines = withField(splitLines(text), key, { value, ending: '\n' })
  return lines && joinLines(lines)
}

describe('front matter', () => {
  it('is read as data where it is plain', () => {
    const text = `---
id: op_1
title: "Buy: milk"
other: 'x'
due: 2026-12-01
empty:
tags: [home, work/mail]
aliases:
- one
- "two"
---
text`
    expect(dataOf(text)).toEqual({
      id: 'op_1',
      title: 'Buy: milk',
      other: 'x',
      due: '2026-12-01',
      empty: '',
      tags: ['home', 'work/mail'],
      aliases: ['one', 'two'],
    })
  })

  it.each([
    ['a nested mapping', 'a:\n  b: 1'],
    ['a block of text', 'a: |\n  one\n  two'],
    ['an open quote', 'a: "one'],
    ['a comment behind', 'a: one # two'],
    ['a list with a comment', 'a:\n  - one # two'],
    ['an open list', 'a: [one,\n  two]'],
  ])('leaves %s alone', (_what, field) => {
    const text = `---\nbefore: 1\n${field}\nafter: 2\n---\n`
    expect(dataOf(text)).toEqual({ before: '1', after: '2' })
    expect(set(text, 'a', 'new')).toBeUndefined()
    expect(set(text, 'before', 'x')).toBe(`---\nbefore: x\n${field}\nafter: 2\n---\n`)
  })

  it.each([
    ['a rule further down', 'text\n---\na: 1\n---\n'],
    ['no end', '---\na: 1\n'],
  ])('is not there with %s', (_what, text) => {
    expect(dataOf(text)).toBeUndefined()
    expect(set(text, 'a', '2')).toBeUndefined()
  })

  it('is changed in one field, and everything around it stays byte for byte', () => {
    const text =
      '\uFEFF---\r\n# mine\r\ntags:\r\n  - a\r\n\r\n# of the date\r\ndue: 2026-01-01  \r\nx:   y\r\n---  \r\ntext\r\n'
    expect(set(text, 'due', '2026-02-02')).toBe(text.replace('due: 2026-01-01  \r\n', 'due: 2026-02-02\n'))
    expect(set(text, 'tags', ['a', 'b'])).toBe(text.replace('tags:\r\n  - a\r\n', 'tags:\n  - a\n  - b\n'))
    expect(set(text, 'due', undefined)).toBe(text.replace('due: 2026-01-01  \r\n', ''))
    expect(set(text, 'new', 'z')).toBe(text.replace('---  \r\n', 'new: z\n---  \r\n'))
  })

  it('writes texts so that they are read as texts', () => {
    for (const value of ['true', '1', 'a: b', '# x', 'plain', '- x', '2026-01-01', 'null', 'Übung']) {
      const written = set('---\n---\n', 'key', value) ?? ''
      expect(dataOf(written)).toEqual({ key: value })
    }
    expect(set('---\n---\n', 'key', 'true')).toBe('---\nkey: "true"\n---\n')
    expect(set('---\n---\n', 'key', [])).toBe('---\nkey: []\n---\n')
  })

  it('does not choose between two fields of one name', () => {
    expect(set('---\na: 1\na: 2\n---\n', 'a', '3')).toBeUndefined()
  })
})
