import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { http } from './index.ts'

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise(done => server.close(done))
  }
})

async function serving(listener: RequestListener): Promise<{ origin: string; server: Server }> {
  const server = createServer(listener)
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

const answering = (status: number, body = '', headers: Record<string, string> = {}) =>
  serving((_request, response) => response.writeHead(status, headers).end(body))

/** Whether it was closed or reset does not matter. */
async function firstConnectionClosed(server: Server): Promise<void> {
  const [socket] = await once(server, 'connection')
  await new Promise(done => socket.once('close', done))
}

const context = (signal = new AbortController().signal) => ({ signal, hasSecret: () => false })

describe('http', () => {
  it('is up on 200 to 399 and says the status of anything else', async () => {
    for (const status of [200, 204, 304, 399]) {
      const { origin } = await answering(status)
      expect(await http({ url: `${origin}/health` }).run(context())).toEqual({ up: true })
    }
    for (const status of [401, 404, 500, 503]) {
      const { origin } = await answering(status)
      expect(await http({ url: `${origin}/health` }).run(context())).toEqual({
        up: false,
        reason: `${origin}/health answered with status ${status}.`,
      })
    }
  })

  it('takes another word for which statuses are fine', async () => {
    const { origin } = await answering(401)
    expect(await http({ url: origin, status: [401] }).run(context())).toEqual({ up: true })
    expect(await http({ url: origin, status: code => code < 500 }).run(context())).toEqual({ up: true })
    expect(await http({ url: origin, status: [200] }).run(context())).toMatchObject({ up: false })
  })

  it('takes a redirect as an answer and does not follow it', async () => {
    const paths: unknown[] = []
    const { origin } = await serving((request, response) => {
      paths.push(request.url)
      response.writeHead(302, { location: '/elsewhere' }).end()
    })
    expect(await http({ url: `${origin}/here` }).run(context())).toEqual({ up: true })
    expect(paths).toEqual(['/here'])
  })

  it('looks for a text at the start of the answer, and reads no further', async () => {
    const { origin } = await answering(200, `pong${'.'.repeat(1_000_000)}late`)
    expect(await http({ url: origin, contains: 'pong' }).run(context())).toEqual({ up: true })
    expect(await http({ url: origin, contains: 'late' }).run(context())).toEqual({
      up: false,
      reason: `The answer of ${origin}/ does not contain "late".`,
    })
  })

  it('ends by itself on an answer that never does', async () => {
    const { origin } = await serving((_request, response) => {
      const more = () => response.write('x'.repeat(16_384), error => error || setImmediate(more))
      more()
    })
    expect(await http({ url: origin, contains: 'y' }).run(context())).toMatchObject({ up: false })
  })

  it('sends method, headers and the account of the url, and shows none of their values', async () => {
    const seen: unknown[] = []
    const { origin } = await serving((request, response) => {
      seen.push(request.method, request.headers.authorization, request.headers['x-key'], request.url)
      response.writeHead(500).end()
    })
    const url = `${origin.replace('//', '//user:pass%21word@')}/check?token=t0ken`
    const probe = http({ url, method: 'HEAD', headers: { 'x-key': 'k3y' } })
    const verdict = await probe.run(context())
    expect(seen).toEqual(['HEAD', `Basic ${btoa('user:pass!word')}`, 'k3y', '/check?token=t0ken'])
    expect(probe.describe).toEqual({ kind: 'http', url: `${origin}/check`, method: 'HEAD', headers: ['x-key'] })
    expect(JSON.stringify([probe.describe, verdict])).not.toMatch(/user|pass|t0ken|k3y/)
  })

  it('closes its connection', async () => {
    const { origin, server } = await answering(200, 'ok')
    const closed = firstConnectionClosed(server)
    expect(await http({ url: origin }).run(context())).toEqual({ up: true })
    await closed
  })

  it('is down where nothing listens and where no host has the name', async () => {
    const { origin, server } = await answering(200)
    await new Promise(done => server.close(done))
    expect(await http({ url: origin }).run(context())).toEqual({
      up: false,
      reason: `Nothing listens on ${new URL(origin).host} (connection refused).`,
    })
    expect(await http({ url: 'http://no-such-host.invalid' }).run(context())).toEqual({
      up: false,
      reason: 'No host is named "no-such-host.invalid".',
    })
  })

  it('cannot tell when the connection breaks', async () => {
    const { origin } = await serving(request => request.socket.destroy())
    await expect(http({ url: origin }).run(context())).rejects.toThrow(`${origin}/ did not answer`)
  })

  it('says what is wrong with its own options, without repeating them', async () => {
    for (const url of ['', 'user:secret@host', 'ftp://secret.example']) {
      expect(await http({ url }).run(context())).toEqual({
        up: false,
        reason: 'The url of the probe is not one that starts with http:// or https://.',
      })
    }
    expect(await http({ url: 'http://localhost', headers: { 'x-key': 'sec\nret' } }).run(context())).toEqual({
      up: false,
      reason: 'The headers of the probe, or the account in its url, have characters that cannot be sent.',
    })
    expect(await http({ url: 'http://127.0.0.1:6000' }).run(context())).toEqual({
      up: false,
      reason: 'HTTP clients refuse to use port 6000; look at it with tcp() instead.',
    })
  })

  it('ends with the signal, before the answer and in the middle of it, and leaves no connection', async () => {
    const reason = new Error('deadline')
    for (const begin of [false, true]) {
      const controller = new AbortController()
      const { origin, server } = await serving((_request, response) => {
        if (begin) response.write('x')
        setImmediate(() => controller.abort(reason))
      })
      const closed = firstConnectionClosed(server)
      await expect(http({ url: origin, contains: 'y' }).run(context(controller.signal))).rejects.toBe(reason)
      await closed
    }
  })
})
