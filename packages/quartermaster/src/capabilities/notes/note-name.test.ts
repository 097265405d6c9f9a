import { describe, expect, it } from 'vitest'
import { Refusal } from '../shared/walls/refusal.ts'
import { isSafeFolder, isSafeNote, isSafeTitle, TITLE, toNotePath } from './note-name.ts'

describe('the path of a note', () => {
  it.each([
    ['Garden', 'Garden.md'],
    ['[[Tasks/Buy milk|milk]]', 'Tasks/Buy milk.md'],
    ['[[Garden#Plants]]', 'Garden.md'],
    ['Übung/日本語 🌱', 'Übung/日本語 🌱.md'],
  ])('%s means %s', (requested, path) => expect(toNotePath(requested)).toBe(path))

  it.each(['[[]]', '/etc/passwd', 'a/../../b', '.obsidian/app', 'a\\b', `${'x'.repeat(253)}`, `${'x/'.repeat(64)}y`])(
    '%j means none',
    requested => expect(() => toNotePath(requested)).toThrow(Refusal),
  )
})

describe('names of new notes', () => {
  it.each(['日本語 v1.2', '❤️ 👩‍🍳 🏳️‍🌈', 'می‌خواهم', "it's (nearly) done!"])('%s can be a title', title => {
    expect(isSafeTitle(title) && TITLE.test(title)).toBe(true)
  })

  it.each(['a/b', '[a]', '.a', 'a ', 'a\u2028b', 'ü'.repeat(127), 'a\u202etxt', 'a\u200db', 'a\u{e0041}'])(
    '%j cannot',
    title => expect(isSafeTitle(title)).toBe(false),
  )

  it('of notes and folders in a configuration stay in the vault', () => {
    expect(['Tasks.md', 'Lists/Tasks'].every(isSafeNote)).toBe(true)
    expect(['../Tasks.md', '/Tasks.md', '.obsidian/x', 'a//b', 'a\u202eb', ''].some(isSafeNote)).toBe(false)
    expect(['Tasks', 'Tasks/', 'a/b', '.'].every(isSafeFolder)).toBe(true)
    expect(['..', '/a', '.trash', 'a/../b', ''].some(isSafeFolder)).toBe(false)
  })
})
