import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { Dropped, sendAlone } from './index.ts'

let server: Server | undefined

afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

async function listening(handler: RequestListener): Promise<string> {
  const started = createServer(handler)
  server = started
  await new Promise<void>(resolve => started.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(started.address() as AddressInfo).port}`
}

describe('a request by itself', () => {
  it('is not kept waiting for ever by a program that says nothing', async () => {
    const url = await listening(() => {})
    const sending = sendAlone({ method: 'GET', url, silenceMs: 50 })
    await expect(sending).rejects.toMatchObject({ wasSent: true, cause: { message: 'Nothing came for 50 ms.' } })
  })

  it('is cut off in the middle of an answer that does not go on', async () => {
    const url = await listening((_request, response) => response.writeHead(200).write('begun'))
    const answer = await sendAlone({ method: 'GET', url, silenceMs: 50 })
    await expect(answer.toArray()).rejects.toThrow('aborted')
  })

  it('was never sent where nobody listens', async () => {
    const url = await listening(() => {})
    await new Promise(resolve => server?.close(resolve))
    const sending = sendAlone({ method: 'POST', url, body: '{}' })
    await expect(sending).rejects.toBeInstanceOf(Dropped)
    await expect(sending).rejects.toMatchObject({ wasSent: false })
  })

  it('was never sent where nobody can be agreed with on how to be safe', async () => {
    const url = (await listening((_request, response) => response.end())).replace('http:', 'https:')
    await expect(sendAlone({ method: 'POST', url, body: '{}' })).rejects.toMatchObject({ wasSent: false })
  })

  it('leaves no connection behind', async () => {
    const url = await listening((request, response) => response.end(request.headers.connection))
    const answer = await sendAlone({ method: 'GET', url })
    expect(Buffer.concat(await answer.toArray()).toString()).toBe('close')
  })

  it('follows nobody elsewhere, whoever has the token', async () => {
    const visits: (string | undefined)[] = []
    const url = await listening((request, response) => {
      visits.push(request.url)
      response.writeHead(307, { Location: '/elsewhere' }).end()
    })
    const { statusCode } = await sendAlone({ method: 'GET', url, headers: { Authorization: 'Bearer x' } })
    expect({ statusCode, visits }).toEqual({ statusCode: 307, visits: ['/'] })
  })
})
