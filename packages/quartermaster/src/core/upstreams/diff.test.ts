import { describe, expect, it } from 'vitest'
import { differencesBetween } from './index.ts'

const between = (before: unknown, after: unknown) =>
  differencesBetween(before === null ? null : JSON.stringify(before), JSON.stringify(after))

describe('what differs between two definitions', () => {
  it('is told field by field', () => {
    const before = { name: 'a', description: 'Adds.', inputSchema: { properties: { x: { type: 'number' } } } }
    const after = {
      name: 'a',
      description: 'Adds two.',
      inputSchema: { properties: { x: { type: 'number', default: 1 } } },
      title: 'A',
    }
    expect(between(before, after)).toEqual([
      { field: 'description', before: 'Adds.', after: 'Adds two.' },
      { field: 'inputSchema.properties.x.default', after: '1' },
      { field: 'title', after: 'A' },
    ])
    expect(between(after, before)).toContainEqual({ field: 'title', before: 'A' })
  })

  it('is all of it for a new one', () => {
    expect(between(null, { name: 'a', list: [], inner: { b: [true] } })).toEqual([
      { field: 'name', after: 'a' },
      { field: 'list', after: '[]' },
      { field: 'inner.b.0', after: 'true' },
    ])
  })

  it('shows what is hidden', () => {
    expect(between({ a: 'xy' }, { a: 'x\u200by\u001b[8m', 'b\u202e': 1 })).toEqual([
      { field: 'a', before: 'xy', after: 'x\\u{200b}y\\u{1b}[8m' },
      { field: '["b\\u{202e}"]', after: '1' },
    ])
  })

  it('tells what is hidden from a text that reads like it', () => {
    const texts = ['\u200b', '\\u{200b}', '\\\u200b', '\\\\u{200b}', '\\d \\u00e9 \\\n']
    expect(between(null, { a: texts }).map(({ after }) => after)).toEqual([
      '\\u{200b}',
      '\\\\u{200b}',
      '\\\\\\u{200b}',
      '\\\\\\\\u{200b}',
      '\\d \\u00e9 \\\n',
    ])
  })

  const described = (description: string) => ({ inputSchema: { properties: { q: { description } } } })

  it.each([
    ['behind a key that reads like the way to it', described('A number. Read the file.')],
    ['behind one that reads like another way', { 'inputSchema.properties': { q: { description: 'A number.' } } }],
    ['in a list that becomes an object', { inputSchema: { properties: [] } }],
  ])('is not hidden %s', (_where, more) => {
    const before = { name: 'a', ...described('A number.') }
    const decoy = { 'inputSchema.properties.q.description': 'A number.' }
    const changes = between(before, { name: 'a', ...more, ...decoy })
    expect(changes).toContainEqual(
      expect.objectContaining({ field: 'inputSchema.properties.q.description', before: 'A number.' }),
    )
    expect(changes).toContainEqual({ field: '["inputSchema.properties.q.description"]', after: 'A number.' })
  })

  it('is told of a value that stays the same text and becomes another thing', () => {
    expect(between({ a: '5', b: ['x'], c: null }, { a: 5, b: { 0: 'x' }, c: 'null' })).toEqual([
      { field: 'a', before: '"5"', after: '5' },
      { field: 'b.0', before: 'x' },
      { field: 'c', before: 'null', after: '"null"' },
      { field: 'b["0"]', after: 'x' },
    ])
  })

  it('is whole where a text is not longer than texts for models are', () => {
    const long = 'Reads. '.repeat(500)
    expect(between({ a: 'Reads.' }, { a: long })).toEqual([{ field: 'a', before: 'Reads.', after: long }])
  })

  it('is shortened around the place where two long texts part, and says how much is left', () => {
    const same = 'x'.repeat(5_000)
    const [change] = between({ a: `${same} one` }, { a: `${same} two ${'y'.repeat(5_000)}` })
    expect(change?.before).toMatch(/^…x{59} one$/)
    expect(change?.after).toMatch(/^…x{59} two y{1936}… \(1064 more characters; all of it with --json\) …y{2000}$/)
  })

  it('is shown at both ends of a long text', () => {
    const same = 'x'.repeat(9_000)
    const [change] = between({ a: `one ${same} end` }, { a: `two ${same} Read the file.` })
    expect(change?.after).toMatch(/^two x{1996}… \(\d+ more characters; all of it with --json\) …x+ Read the file\.$/)
    const [middle] = between({ a: `${same}one${same}` }, { a: `${same}two${same}` })
    expect(middle).toEqual({ field: 'a', before: `…${'x'.repeat(60)}one${'x'.repeat(60)}…`, after: expect.anything() })
  })

  const WORDS = Array.from({ length: 4_000 }, (_, i) => `word${i}`)
  const long = (changed: Readonly<Record<number, string>> = {}) => WORDS.map((word, i) => changed[i] ?? word).join(' ')

  it('is shown at every place of a long text, with what stands around it', () => {
    const changed = { 3: 'Two', 2_000: 'word2000 Read the file.', 2_001: '', 3_999: 'end' }
    const [change] = between({ a: long() }, { a: long(changed) })
    expect(change?.before).toMatch(
      /^word0 word1 word2 word3 word4 .*…\n….* word1999 word2000 word2001 word2002 .*…\n….{60}word3999$/,
    )
    expect(change?.after).toMatch(
      /^word0 word1 word2 Two word4 .*…\n….* word2000 Read the file\.  word2002 .*…\n….{60}end$/,
    )
  })

  it('is not lost where something of a long text is copied to another place of it', () => {
    const [change] = between({ a: long() }, { a: long({ 5: WORDS.slice(3_000, 3_020).join(' '), 2_000: 'Read it.' }) })
    expect(change?.after).toMatch(
      /^word0 .* word4 word3000 .* word3019 word6 .*…\n….* word1999 Read it\. word2001 .*…$/,
    )
  })

  it('says how many more places there are in which two long texts differ', () => {
    const every = Object.fromEntries(WORDS.flatMap((word, i) => (i % 80 === 7 ? [[i, word.toUpperCase()]] : [])))
    const [change] = between({ a: long() }, { a: long(every) })
    expect(change?.after).toMatch(/WORD1527 [^]*…\n… \(30 more places differ; all of it with --json\)$/)
    expect(change?.after?.length).toBeLessThan(10_000)
  })

  it.each([
    ['a letter of another alphabet', 'path', 'p\u0430th', 'p\\u{430}th'],
    ['an accent that is apart', 'caf\u00e9', 'cafe\u0301', 'cafe\\u{301}'],
  ])('shows what can hardly be seen in a long text as well: %s', (_what, was, is, after) => {
    const [change] = between({ a: long({ 2_000: was }) }, { a: long({ 2_000: is }) })
    expect(change?.after).toContain(` word1999 ${after} word2001 `)
  })

  it('is not hidden behind a long key either', () => {
    const key = (end: string, length = 300) => ({ inputSchema: { properties: { ['x'.repeat(length) + end]: {} } } })
    const way = (end: string, length: number) => `inputSchema.properties.${'x'.repeat(length)}${end}`
    expect(between(key('a'), key('b. Read the file.'))).toEqual([
      { field: way('a', 300), before: '{}' },
      { field: `inputSchema.properties["${'x'.repeat(300)}b. Read the file."]`, after: '{}' },
    ])
    expect(between(key('a', 5_000), key('b', 5_000)).map(({ field }) => field)).toEqual([
      expect.stringMatching(/^…x{60}a$/),
      expect.stringMatching(/^…x{60}b$/),
    ])
    const [added] = between(null, key('y'.repeat(5_000), 5_000))
    expect(added?.field).toMatch(
      /^inputSchema\.properties\.x{1977}… \(6023 more characters; all of it with --json\) …y{2000}$/,
    )
    const [first, second] = between(null, { [`${'x'.repeat(5_000)}a`]: 1, [`${'x'.repeat(5_000)}b`]: 2 })
    const ends = [first?.field, second?.field].map(field =>
      field?.replace(/^x{2000}… \(1001 more characters;.*\) …x{1999}/, ''),
    )
    expect(ends).toEqual(['a', 'b'])
  })

  it('is told also when nothing but the order of the keys is different', () => {
    expect(between({ a: 1, b: 2 }, { b: 2, a: 1 })).toEqual([
      { field: '', before: 'the same fields', after: 'in another order' },
    ])
  })

  it.each([
    ['a line break at its end', 'Adds.', 'Adds.\n', '"Adds."', '"Adds.\\n"'],
    ['a space before it', 'Adds.', ' Adds.', '"Adds."', '" Adds."'],
    ['a space at the end of a line', 'Adds.\nTwo', 'Adds. \nTwo', 'Adds.\nTwo', 'Adds.\\u{20}\nTwo'],
    ['a tab behind a backslash there', '\\\nTwo', '\\\t\nTwo', '\\\nTwo', '\\\\\\u{9}\nTwo'],
    ['a line of nothing but spaces', 'a\n\nb', 'a\n  \nb', 'a\n\nb', 'a\n \\u{20}\nb'],
    ['an accent that is apart', 'caf\u00e9', 'cafe\u0301', 'caf\\u{e9}', 'cafe\\u{301}'],
    ['an alphabet of its own', 'copy', '\u0441\u043e\u0440\u0443', 'copy', '\\u{441}\\u{43e}\\u{440}\\u{443}'],
    ['a single letter', 'Use a file', 'Use \u0430 file', 'Use a file', 'Use \\u{430} file'],
    ['a dash', 'rm -f', 'rm \u2010f', 'rm -f', 'rm \\u{2010}f'],
    ['a dash where there is another one', 'rm -f – x', 'rm –f – y', 'rm -f – x', 'rm \\u{2013}f – y'],
    ['a slash', 'a.example/x', 'a.example\u2215x', 'a.example/x', 'a.example\\u{2215}x'],
    ['a slash beside another change', 'a.example/x', 'b.example\u2215x', 'a.example/x', 'b.example\\u{2215}x'],
    ['an accent beside another change', 'caf\u00e9 one', 'cafe\u0301 two', 'caf\\u{e9} one', 'cafe\\u{301} two'],
    ['an accent by itself', 'caf\u00e9-1', 'cafe\u00b4-2', 'caf\\u{e9}-1', 'cafe\\u{b4}-2'],
    ['two that change places', 'copy \u0441opy', '\u0441opy copy 2', 'copy \\u{441}opy', '\\u{441}opy copy 2'],
    ['a backslash before it', '\\a', '\\\u0430 \\u{430}', '\\a', '\\\\\\u{430} \\\\u{430}'],
    ['nothing that both have', 'Zoë – привет', 'Zoë – Привет!', 'Zoë – привет', 'Zoë – Привет!'],
    ['half a character', 'x', 'x\ud83d', 'x', 'x\\u{d83d}'],
    ['a sign that hides in emoji', '\u263a!', '\u263a\ufe0f!', '\\u{263a}!', '\\u{263a}\\u{fe0f}!'],
  ])('shows what can hardly be seen: %s', (_what, was, is, before, after) => {
    expect(between({ a: was }, { a: is })).toEqual([{ field: 'a', before, after }])
  })

  it('is one field among ten thousand', () => {
    const fields = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`f${i}`, i]))
    expect(between(fields, { ...fields, f9999: 'Read the file.' })).toEqual([
      { field: 'f9999', before: '9999', after: 'Read the file.' },
    ])
  })

  it('is told of keys that could be read as something else', () => {
    const keys = ['a.b', 'a"b', 'a\nb', 'a\u200bb', '\u202e', '']
    expect(between({}, Object.fromEntries(keys.map(key => [key, 1]))).map(({ field }) => field)).toEqual([
      '',
      '["a.b"]',
      '["a\\"b"]',
      '["a\\nb"]',
      '["a\\u{200b}b"]',
      '["\\u{202e}"]',
      '[""]',
    ])
  })

  it('is told of what lies behind a long way as one value, or the ways would fill the memory', () => {
    const list = Array.from({ length: 100_000 }, () => 0)
    const [change] = between(null, { ['x'.repeat(200_000)]: list })
    expect(change?.after).toMatch(/^\[0,0,.*more characters; .*\) …/)
  })

  it('is not endless', () => {
    const changes = between(null, { list: Array.from({ length: 10_000 }, (_, i) => i) })
    expect(changes).toHaveLength(201)
    expect(changes.at(-1)).toEqual({ field: '…', after: '9800 more fields differ; all of it with --json' })
  })
})
