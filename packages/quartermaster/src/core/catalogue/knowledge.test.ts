import { describe, expect, it } from 'vitest'
import { createHub } from '../../testing/hub.ts'

/** What is said of a unit at this path with this at its head. */
async function saidOf(path: string, front: Record<string, unknown>): Promise<string[]> {
  const hub = await createHub({ units: { 'knowledge/a.md': { written: [{ path, front, body: '' }] } } })
  return hub.catalogue.problems().map(({ message }) => message)
}

const CONCEPT = { kind: 'concept', title: 'T' }

describe('the path of a unit', () => {
  it.each(['C++', 'FAQ (old)', "what's new", 'हिन्दी', 'été', 'e\u0301te\u0301', 'R&D/a, b', '2026-01'])(
    'may be "%s"',
    async path => {
      expect(await saidOf(path, CONCEPT)).toEqual([])
    },
  )

  it.each([
    ['a#b', 'path cannot have "#": names are made of letters, digits, spaces and _ . - + \' ( ) , &.'],
    ['a/b\u200bc', "path cannot have U+200B: names are made of letters, digits, spaces and _ . - + ' ( ) , &."],
    ['a/-b', 'path has a name that begins with no letter, no digit and no "_": "-b".'],
    ['a//b', 'path must be names joined by "/".'],
  ])('cannot be "%s", and it is told why', async (path, message) => {
    expect(await saidOf(path, CONCEPT)).toEqual([`unit "${path}": ${message}`])
  })
})

describe('the head of a unit', () => {
  it.each([
    [{ title: 'T' }, ['kind is needed.']],
    [
      { ...CONCEPT, kind: 'concpet' },
      [expect.stringMatching(/^kind must be one of directions, system, .*workflow\.$/)],
    ],
    [{ ...CONCEPT, title: 5 }, ['title must be a text.']],
    [{ ...CONCEPT, title: '' }, ['title is empty.']],
    [{ ...CONCEPT, title: 'x'.repeat(201) }, ['title is longer than 200.']],
    [{ ...CONCEPT, tags: 'a' }, ['tags must be a list.']],
    [{ ...CONCEPT, tags: Array(40).fill(7) }, expect.objectContaining({ length: 21 })],
    [{ ...CONCEPT, kind: 'directions', summary: 'S.', whenToUse: 'W.' }, ['command is needed by directions.']],
  ])('is told in words what is wrong with %j', async (front, words) => {
    const said = await saidOf('a', front)
    expect(said.map(one => one.replace('unit "a": ', ''))).toEqual(words)
  })
})
