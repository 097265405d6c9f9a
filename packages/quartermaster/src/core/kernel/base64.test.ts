import { expect, it } from 'vitest'
import { toBase64 } from './index.ts'

it.each([0, 1, 2, 3, 0x8000, 0x8001, 100_000])('writes %i bytes as base64', length => {
  const bytes = Uint8Array.from({ length }, (_, index) => (index * 7) % 256)
  expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'))
})
