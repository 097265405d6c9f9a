import { describe, expect, it } from 'vitest'
import { Refusal } from '../shared/walls/refusal.ts'
import { isSafeFolder, isSafeNote, isSafeTitle, TITLE, toNotePath } from './note-name.ts'

describe('the path of a note', () => {
  it.each([
    ['Garden', 'Garden.md'],
    ['Garden.md', 'Garden.md'],
    ['Tasks/Buy milk', 'Tasks/Buy milk.md'],
    ['[[Tasks/Buy milk|milk]]', 'Tasks/Buy milk.md'],
    ['[[Garden#Plants]]', 'Garden.md'],
    ['v1.2', 'v1.2.md'],
    ['Übung/日本語 🌱', 'Übung/日本語 🌱.md'],
    [' Garden ', 'Garden.md'],
  ])('%s means %s', (requested, path) => expect(toNotePath(requested)).toBe(path))

  it.each([
    '',
    '[[]]',
    '/etc/passwd',
    '../outside',
    'a/../../b',
    './a',
    'a//b',
    '.obsidian/app',
    'a/.trash/b',
    '.hidden',
    'a\\b',
    'a\0b',
    'a\nb',
    `${'x'.repeat(253)}`,
    `${'x/'.repeat(64)}y`,
  ])('%j means none', requested => expect(() => toNotePath(requested)).toThrow(Refusal))
})

describe('names of new notes', () => {
  it.each([
    'Buy milk',
    'Übung 🌱',
    '日本語',
    'v1.2 of it',
    '❤️ 👩‍🍳 🏳️‍🌈',
    'می‌خواهم',
    '買い物　明日',
    "it's (nearly) done!",
  ])('%s can be a title', title => {
    expect(isSafeTitle(title) && TITLE.test(title)).toBe(true)
  })

  it.each([
    'a/b',
    'a\\b',
    'a:b',
    'a#b',
    'a^b',
    '[a]',
    'a|b',
    'a?',
    '.a',
    'a.',
    'a ',
    'a\nb',
    'a\u2028b',
    '"a"',
    'ü'.repeat(127),
    'a\u202etxt',
    'a\u200bb',
    'a\u00adb',
    'a\u200db',
    'a\ufe0f',
    '\u2066a\u2069',
    'a\u{e0041}',
  ])('%j cannot', title => expect(isSafeTitle(title)).toBe(false))

  it('of notes and folders in a configuration stay in the vault', () => {
    expect(['Tasks.md', 'Lists/Tasks'].every(isSafeNote)).toBe(true)
    expect(['../Tasks.md', '/Tasks.md', '.obsidian/x', 'a//b', 'a\u202eb', ''].some(isSafeNote)).toBe(false)
    expect(['Tasks', 'Tasks/', 'a/b', '.'].every(isSafeFolder)).toBe(true)
    expect(['..', '/a', '.trash', 'a/../b', ''].some(isSafeFolder)).toBe(false)
  })
})
