import { request } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type CallbackPage, openCallback } from './login.ts'

/** A place to come back to, and what was brought there. */
async function place(take: (params: URLSearchParams) => Promise<CallbackPage>) {
  const callback = await openCallback(take)
  onTestFinished(() => callback.close())
  const { hostname, port } = new URL(callback.redirectUrl)
  /** As it is, also what no address can say. */
  const visit = (path: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const sending = request({ hostname, port, path, agent: false }, response => {
        response.resume()
        response.once('end', () => resolve(response.statusCode))
      })
      sending.once('error', reject)
      sending.end()
    })
  return { visit }
}

describe('where a browser comes back to', () => {
  it('takes what it brings, as it was sent', async () => {
    const taken: string[] = []
    const { visit } = await place(async params => {
      taken.push(String(params.get('code')), String(params.get('state')))
      return { ok: true, text: '' }
    })
    expect(await visit('/callback?code=a?b&state=c')).toBe(200)
    expect(taken).toEqual(['a?b', 'c'])
  })

  it.each(['//', '//[', '/', '/callback/', '/x/../callback', 'http://[', '*'])(
    'answers a request for %s that there is nothing',
    async path => {
      const { visit } = await place(async () => ({ ok: true, text: '' }))
      expect(await visit(path)).toBe(404)
    },
  )

  it('answers also when what was brought cannot be taken', async () => {
    const { visit } = await place(() => Promise.reject(new Error('secret words')))
    expect(await visit('/callback?code=a')).toBe(400)
  })
})
