import { describe, expect, it } from 'vitest'
import { readMessage } from './http-front.ts'
import { FRONT_LIMITS } from './http-streams.ts'

const LIMITS = { ...FRONT_LIMITS, maxBodyBytes: 100 }

function sent(body: Uint8Array<ArrayBuffer>, { isLengthSaid }: { isLengthSaid: boolean }): Request {
  const headers: Record<string, string> = isLengthSaid ? { 'content-length': String(body.length) } : {}
  return new Request('http://localhost/mcp', { method: 'POST', body, headers })
}

describe.each([true, false])('a message whose length is said (%s)', isLengthSaid => {
  it('is read in UTF-8', async () => {
    const request = sent(new TextEncoder().encode('{"a":"ü"}'), { isLengthSaid })
    expect(await readMessage(request, LIMITS)).toEqual({ a: 'ü' })
  })

  it('is refused when its bytes are no UTF-8, and not read as another text', async () => {
    const request = sent(Uint8Array.from([0x22, 0xff, 0xc3, 0x22]), { isLengthSaid })
    await expect(readMessage(request, LIMITS)).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: 'The request body is not UTF-8.',
    })
  })

  it('is refused when it is too long', async () => {
    const request = sent(new Uint8Array(101).fill(0x20), { isLengthSaid })
    await expect(readMessage(request, LIMITS)).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
  })
})
