import { describe, expect, it } from 'vitest'
import type { SealContext } from '../../core/store/index.ts'
import { createSealer } from './index.ts'

const PLACE: SealContext = { table: 'operations', id: 'op_1', column: 'arguments' }
const sealer = createSealer({ key: Buffer.alloc(32, 7) })

describe('a sealer', () => {
  it.each(['', 'a', '{"city":"Zürich"}', '🂡'.repeat(10_000)])('opens what it has sealed: %.20s', text => {
    const sealed = sealer.seal(text, PLACE)
    expect(sealed).toMatch(/^s1\.[\w-]{8}\.[\w-]+$/)
    expect(sealer.open(sealed, PLACE)).toBe(text)
  })

  it('never seals the same text twice alike', () => {
    expect(sealer.seal('x', PLACE)).not.toBe(sealer.seal('x', PLACE))
  })

  it('refuses a text in which any one character was changed, or that was cut', () => {
    const sealed = sealer.seal('ten books', PLACE)
    for (let i = 0; i < sealed.length - 1; i++) {
      const changed = sealed.slice(0, i) + (sealed[i] === 'A' ? 'B' : 'A') + sealed.slice(i + 1)
      expect(() => sealer.open(changed, PLACE)).toThrowError(expect.objectContaining({ code: 'INTERNAL' }))
      expect(() => sealer.open(sealed.slice(0, i), PLACE)).toThrowError(expect.objectContaining({ code: 'INTERNAL' }))
    }
  })

  it.each([
    { ...PLACE, id: 'op_2' },
    { ...PLACE, column: 'result' },
    { ...PLACE, table: 'secrets' as const },
  ])('opens a text nowhere but where it belongs: %j', other => {
    expect(() => sealer.open(sealer.seal('x', PLACE), other)).toThrow(/belongs somewhere else/)
  })

  it('says what cannot be opened and never what it holds', () => {
    expect(() => sealer.open('hunter2', PLACE)).toThrow(/"arguments" of "op_1" in operations.*not a sealed text/)
    expect(() => sealer.open('hunter2', PLACE)).not.toThrow(/hunter2/)
  })

  it('says so when a text was sealed with another key', () => {
    const other = createSealer({ key: Buffer.alloc(32, 8) })
    expect(() => sealer.open(other.seal('x', PLACE), PLACE)).toThrow(/its key is not the one in the data folder/)
  })

  it.each([0, 16, 31, 33])('takes no key of %i bytes', bytes => {
    expect(() => createSealer({ key: Buffer.alloc(bytes) })).toThrow(/32 bytes/)
  })
})
