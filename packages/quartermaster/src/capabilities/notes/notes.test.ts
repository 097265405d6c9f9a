import { describe, expect, it } from 'vitest'
import { notesFixture } from '../../testing/notes-fixture.ts'

const GARDEN = `---
tags: [plants, home]
plan:
  beds: 3
---
# Garden

Tomatoes need water.

## Plants
- basil

### Herbs
- mint


## Tools
- spade
`

describe('note_read', () => {
  it('shows a note with its front matter and headings', async () => {
    const desk = await notesFixture({ files: { 'vault/Home/Garden.md': GARDEN } })
    const { data, text } = await desk.read({ note: 'Home/Garden' })
    expect(text).toBe(GARDEN)
    expect(data).toMatchObject({
      path: 'Home/Garden.md',
      frontMatter: { tags: ['plants', 'home'] },
      totalLines: 18,
      more: false,
      through: 'disk',
      headings: [
        { level: 1, title: 'Garden', line: 6 },
        { level: 2, title: 'Plants', line: 10 },
        { level: 3, title: 'Herbs', line: 13 },
        { level: 2, title: 'Tools', line: 17 },
      ],
    })
  })

  it('shows the section of a heading, or some lines', async () => {
    const desk = await notesFixture({ files: { 'vault/Garden.md': GARDEN } })
    expect((await desk.read({ note: 'Garden', heading: 'plants' })).text).toBe(
      '## Plants\n- basil\n\n### Herbs\n- mint\n\n\n',
    )
    const some = await desk.read({ note: 'Garden', offset: 6, limit: 3 })
    expect(some.data).toMatchObject({
      text: '# Garden\n\nTomatoes need water.\n',
      firstLine: 6,
      lastLine: 8,
      nextOffset: 9,
    })
    expect((await desk.read({ note: 'Garden', heading: 'Weather' })).text).toBe(
      '"Garden.md" has no heading "Weather". It has: "Garden", "Plants", "Herbs", "Tools".',
    )
    expect((await desk.read({ note: 'Garden', offset: 99 })).text).toContain('there is no line 99')
  })

  it('finds a note by its name alone, as links do, and says when that is not enough', async () => {
    const files = {
      'vault/a/Garden.md': 'one',
      'vault/a/Plan.md': '1',
      'vault/b/Plan.md': '2',
      'vault/.trash/Old.md': 'x',
    }
    const desk = await notesFixture({ files })
    expect((await desk.read({ note: '[[garden]]' })).data).toMatchObject({ path: 'a/Garden.md', text: 'one' })
    expect((await desk.read({ note: 'Plan' })).text).toBe(
      'Several notes are called "Plan": "a/Plan.md", "b/Plan.md". Give the whole path.',
    )
    expect((await desk.read({ note: 'Gardn' })).text).toBe('There is no note "Gardn". Did you mean "a/Garden.md"?')
    expect((await desk.read({ note: 'Old' })).text).toContain('There is no note "Old"')
  })

  it('cuts what is too long, and leaves no half of a character', async () => {
    const long = `${'x'.repeat(99_999)}🌱🌱`
    const desk = await notesFixture({ files: { 'vault/Long.md': long, 'vault/Many.md': 'line\n'.repeat(3_000) } })
    expect((await desk.read({ note: 'Long' })).data).toMatchObject({ cut: true, text: 'x'.repeat(99_999) })
    expect((await desk.read({ note: 'Many' })).data).toMatchObject({ lastLine: 2_000, nextOffset: 2_001, more: true })
  })

  it('refuses what is no text or too large', async () => {
    const desk = await notesFixture({ files: { 'vault/Huge.md': 'x'.repeat(8 * 1024 * 1024 + 1) } })
    const { writeFile } = await import('node:fs/promises')
    await writeFile(desk.project.path('vault/Bytes.md'), Buffer.from([0x66, 0xff, 0xfe]))
    expect((await desk.read({ note: 'Bytes' })).text).toBe('"Bytes.md" is no text in UTF-8, so it is left alone.')
    expect((await desk.append({ note: 'Bytes', text: 'x' })).text).toContain('is no text in UTF-8')
    expect((await desk.read({ note: 'Huge' })).text).toContain('notes are read up to 8.0 MiB')
  })
})

describe('note_search', () => {
  it('puts notes with more of the words first, and names before texts', async () => {
    const desk = await notesFixture({
      files: {
        'vault/Tomatoes.md': 'red',
        'vault/Garden.md': GARDEN,
        'vault/Soup.md': 'Take tomatoes,\nand more tomatoes.',
        'vault/Other.md': 'nothing',
        'vault/.obsidian/x.md': 'tomatoes',
        'vault/picture.png': 'tomatoes',
      },
    })
    const { data } = await desk.search({ query: 'TOMATOES water' })
    expect(data).toMatchObject({
      notes: [
        { path: 'Garden.md', words: 2, lines: [{ line: 8, text: 'Tomatoes need water.' }] },
        { path: 'Tomatoes.md', words: 1, lines: [] },
        {
          path: 'Soup.md',
          words: 1,
          lines: [
            { line: 1, text: 'Take tomatoes,' },
            { line: 2, text: 'and more tomatoes.' },
          ],
        },
      ],
      found: 3,
      searched: 4,
      complete: true,
      through: 'disk',
    })
  })

  it('looks in front matter, under tags and in one folder', async () => {
    const desk = await notesFixture({ files: { 'vault/a/One.md': GARDEN, 'vault/b/Two.md': '#plants' } })
    expect((await desk.search({ query: 'plants', limit: 1 })).data).toMatchObject({
      notes: [{ path: 'a/One.md' }],
      found: 2,
    })
    expect((await desk.search({ query: '#plants' })).data).toMatchObject({ notes: [{ path: 'b/Two.md' }] })
    expect((await desk.search({ query: 'plants', folder: 'b/' })).data).toMatchObject({ notes: [{ path: 'b/Two.md' }] })
    expect((await desk.search({ query: 'snow' })).text).toBe('No note has any of the words "snow".\n[0 of 2 notes]')
    expect((await desk.search({ query: ' ,' })).text).toBe('The query has no words.')
  })
})

describe('note_append', () => {
  it('adds to the end, with the endings the note has', async () => {
    const desk = await notesFixture({ files: { 'vault/A.md': '\uFEFFone\r\n\ttwo  ' } })
    expect((await desk.append({ note: 'A', text: '- three\n- four' })).data).toMatchObject({
      path: 'A.md',
      line: 3,
      created: false,
    })
    expect(await desk.note('A.md')).toBe('\uFEFFone\r\n\ttwo  \r\n- three\r\n- four\r\n')
  })

  it('adds to a section, before the next heading and the empty lines around it', async () => {
    const desk = await notesFixture({ files: { 'vault/Garden.md': GARDEN } })
    await desk.append({ note: 'Garden', heading: 'Plants', text: '- thyme' })
    expect(await desk.note('Garden.md')).toBe(GARDEN.replace('- mint\n', '- mint\n- thyme\n'))
    await desk.append({ note: 'Garden', heading: '## Tools', text: '- fork' })
    expect(await desk.note('Garden.md')).toContain('- spade\n- fork\n')
  })

  it('makes a note when told to', async () => {
    const desk = await notesFixture()
    expect((await desk.append({ note: 'x/New', text: 'text' })).text).toContain('There is no note "x/New"')
    expect((await desk.append({ note: 'x/New', text: 'text', create: true })).data).toMatchObject({
      created: true,
      path: 'x/New.md',
    })
    expect(await desk.note('x/New.md')).toBe('text\n')
    expect((await desk.append({ note: 'x/a:b', text: 'text', create: true })).ok).toBe(false)
    expect((await desk.append({ note: 'new', text: 'more', create: true })).data).toMatchObject({
      created: false,
      path: 'x/New.md',
    })
  })

  it('writes no note over 1 MiB', async () => {
    const text = 'x'.repeat(1024 * 1024 - 2)
    const desk = await notesFixture({ files: { 'vault/Big.md': text } })
    expect((await desk.append({ note: 'Big', text: 'y' })).text).toContain('notes are written up to 1.0 MiB')
    expect(await desk.note('Big.md')).toBe(text)
  })
})
