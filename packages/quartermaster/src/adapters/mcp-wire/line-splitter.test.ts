import { describe, expect, it } from 'vitest'
import { createLineSplitter } from './index.ts'

const splitter = (maxBytes = 10) => createLineSplitter({ maxBytes, glimpseBytes: 4 })

describe('a line in many parts', () => {
  it('is put together, however small the parts are', () => {
    const lines = splitter(1_000)
    const text = 'ü'.repeat(400)
    for (const byte of Buffer.from(text)) expect(lines.push(Buffer.of(byte))).toEqual([])
    expect(lines.push(Buffer.from('\nnext\n'))).toEqual([{ text }, { text: 'next' }])
  })

  it('is known to be too long before it ends, and how long it is', () => {
    const lines = splitter()
    expect(lines.push(Buffer.from('12345678'))).toEqual([])
    expect(lines.begunBytes()).toBe(8)
    expect(lines.push(Buffer.from('90abc'))).toEqual([])
    expect(lines.begunBytes()).toBe(13)
    expect(lines.push(Buffer.from('def'))).toEqual([])
    expect(lines.rest()).toEqual({ tooLong: { head: '1234', tail: 'cdef', bytes: 16 } })
    expect(lines.begunBytes()).toBe(0)
  })

  it('shows both ends when it is over, and the next one begins anew', () => {
    const lines = splitter(1_024)
    for (let i = 0; i < 100; i++) lines.push(Buffer.alloc(65_536, 'x'))
    expect(lines.push(Buffer.from('y\nok\n'))).toEqual([
      { tooLong: { head: 'xxxx', tail: 'xxxy', bytes: 6_553_601 } },
      { text: 'ok' },
    ])
  })

  it('is nothing when there was none', () => {
    const lines = splitter()
    expect(lines.rest()).toBeUndefined()
    lines.push(Buffer.from('a\n'))
    expect(lines.rest()).toBeUndefined()
    lines.push(Buffer.from('b'))
    expect(lines.rest()).toEqual({ text: 'b' })
    expect(lines.rest()).toBeUndefined()
  })
})
