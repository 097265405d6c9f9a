import { describe, expect, it } from 'vitest'
import { decodeNews, encodeNews } from './news.ts'

describe('an encoded notification', () => {
  it('names changed rows by id, and only their tables when there are too many', () => {
    const some = [{ table: 'tokens' as const, ids: ['a', 'b'] }]
    expect(decodeNews(encodeNews('me', some) ?? '')).toEqual({ by: 'me', rows: some })
    const many = Array.from({ length: 101 }, (_, i) => `t${i}`)
    const long = Array.from({ length: 90 }, (_, i) => String(i).padStart(128, 'x'))
    for (const ids of [many, long]) {
      const text = encodeNews('me', [...some, { table: 'operations', ids }]) ?? ''
      expect(text.length).toBeLessThan(8_000)
      expect(decodeNews(text)?.rows).toContainEqual({ table: 'operations', ids: 'any' })
    }
    expect(encodeNews('me', [])).toBeUndefined()
  })

  it('drops tables of another version, and means anything when it is unreadable', () => {
    expect(decodeNews('["it",["tokens",["a"]],["letters",["b"]]]')).toEqual({
      by: 'it',
      rows: [{ table: 'tokens', ids: ['a'] }],
    })
    expect([decodeNews('hello'), decodeNews('{}'), decodeNews('[1]')]).toEqual([undefined, undefined, undefined])
  })
})
