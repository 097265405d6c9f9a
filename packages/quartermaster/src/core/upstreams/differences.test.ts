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
    expect(change?.after).toMatch(/^…x{59} two y{3934}… \(1066 more characters\)$/)
  })

  it('is told also when nothing but the order of the keys is different', () => {
    expect(between({ a: 1, b: 2 }, { b: 2, a: 1 })).toEqual([
      { field: '', before: 'the same fields', after: 'in another order' },
    ])
  })

  it('is not endless', () => {
    const changes = between(null, { list: Array.from({ length: 10_000 }, (_, i) => i) })
    expect(changes).toHaveLength(201)
    expect(changes.at(-1)).toEqual({ field: '…', after: '9800 more fields differ' })
  })
})
