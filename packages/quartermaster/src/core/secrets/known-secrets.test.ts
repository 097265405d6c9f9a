import { describe, expect, it } from 'vitest'
import { createSecretRedactor } from './index.ts'

const SECRET = 'sk-live-4f9A7c2E8b1D6e3F0a5C9d2B7e4A1f8C3d6E'

describe('the beginning of a text with secrets', () => {
  const { redactStart } = createSecretRedactor([SECRET, 'live'])

  it('is all of a short one', () => {
    expect(redactStart(`key ${SECRET}`, 12)).toEqual({ text: 'key [secret]', isWhole: true })
    expect(redactStart(`key ${SECRET}.`, 12)).toEqual({ text: 'key [secret]', isWhole: false })
  })

  it('ends with no part of a secret, wherever it is cut', () => {
    const text = `${SECRET} `.repeat(20)
    for (let most = 0; most < 200; most++) {
      expect(redactStart(text, most).text).toMatch(/^(?:\[secret\] )*(?:\[s?e?c?r?e?t?\]?)?$/)
      const cut = redactStart(text.slice(0, most), most, { isCut: true })
      expect(cut).toEqual({ text: expect.stringMatching(/^(?:\[secret\] )*(?:\[secret\])?$/), isWhole: false })
    }
  })

  it('shows nothing where all of it may be a part of one', () => {
    expect(redactStart(SECRET.slice(0, 40), 100, { isCut: true })).toEqual({ text: '', isWhole: false })
    expect(createSecretRedactor([]).redactStart('ab', 1)).toEqual({ text: 'a', isWhole: false })
  })

  it('never ends in half a character', () => {
    expect(redactStart('a\u{1f600}b', 2)).toEqual({ text: 'a', isWhole: false })
  })
})

it('knows how long a secret is at most, with every backslash that JSON in JSON has', () => {
  const { redact, longest } = createSecretRedactor(['a"b'])
  const written = `a${'\\'.repeat(7)}u0022b`
  expect(redact(written)).toBe('[secret]')
  expect(longest).toBe(written.length)
})
