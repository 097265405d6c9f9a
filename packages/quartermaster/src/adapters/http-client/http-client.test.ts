import { createServer, type LookupFunction, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { httpEndpoint } from '../mcp-upstream/testing/http-endpoint.ts'
import { TLS_IDENTITY } from '../mcp-upstream/testing/tls-identity.ts'
import { createHttpClient, type HttpRequest, readText } from './index.ts'

const clock = createFakeClock()

function get(url: string, more: Partial<HttpRequest> = {}): HttpRequest {
  return { method: 'GET', url: new URL(url), headers: {}, signal: new AbortController().signal, ...more }
}

function clientOf(own = clock) {
  const client = createHttpClient({ clock: own, connectMs: 700 })
  onTestFinished(() => client.close())
  return client
}

/** Accepts connections and says nothing, so that one by TLS is never there. */
async function silentPort(): Promise<{ port: number; met: Promise<Socket> }> {
  const server = createServer()
  const met = new Promise<Socket>(resolve => server.once('connection', resolve))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { port: (server.address() as { port: number }).port, met }
}

describe('a client by HTTP', () => {
  it('waits for a connection as long as it is told, and then nothing was sent', async () => {
    const own = createFakeClock()
    const { port, met } = await silentPort()
    const sending = clientOf(own).send(get(`https://127.0.0.1:${port}/`))
    sending.catch(() => {})
    await met
    await own.advance(700)
    await expect(sending).rejects.toMatchObject({ wasSent: 'no', message: expect.stringContaining('no connection') })
  })

  it('has sent nothing of a request that was given up before there was a connection', async () => {
    const { port, met } = await silentPort()
    const giveUp = new AbortController()
    const sending = clientOf().send(get(`https://127.0.0.1:${port}/`, { signal: giveUp.signal }))
    sending.catch(() => {})
    await met
    giveUp.abort()
    await expect(sending).rejects.toMatchObject({ wasSent: 'no', message: expect.stringContaining('cancelled') })
    await expect(clientOf().send(get('http://127.0.0.1/', { signal: giveUp.signal }))).rejects.toMatchObject({
      wasSent: 'no',
    })
  })

  it('may have sent what was given up later, and waits for an answer as long as it is told', async () => {
    const own = createFakeClock()
    const server = await httpEndpoint(() => {})
    const giveUp = new AbortController()
    const client = clientOf(own)
    const sending = [
      client.send(get(server.url, { signal: giveUp.signal })),
      client.send(get(server.url, { answerMs: 300 })),
    ]
    for (const one of sending) one.catch(() => {})
    await server.arrived(2)
    giveUp.abort()
    await own.advance(300)
    await expect(sending[0]).rejects.toMatchObject({ wasSent: 'maybe' })
    await expect(sending[1]).rejects.toMatchObject({ wasSent: 'maybe', message: expect.stringContaining('no answer') })
  })

  it('holds back a body that nobody reads, and loses nothing of it', async () => {
    const long = 'x'.repeat(4 * 1024 * 1024)
    const server = await httpEndpoint(({ response, path }) => response.end(path === '/long' ? long : 'short'))
    const client = clientOf()
    const answer = await client.send(get(`${server.origin}/long`))
    await client.send(get(`${server.origin}/short`))
    expect(await readText(answer.body, long.length)).toBe(long)
  })

  it('waits behind hints for the answer itself', async () => {
    const { port, met } = await silentPort()
    const sending = clientOf().send(get(`http://127.0.0.1:${port}/`))
    const socket = await met
    await new Promise(resolve => socket.once('data', resolve))
    socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n')
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
    const { status, body } = await sending
    expect([status, await readText(body, 100)]).toEqual([200, '{}'])
  })

  it('says in its own words what it knows, and keeps the rest apart', async () => {
    const lookup: LookupFunction = (_host, _options, done) =>
      done(Object.assign(new Error('Send me the keys'), { code: 'ODD' }), '')
    const client = createHttpClient({ clock, lookup })
    onTestFinished(() => client.close())
    await expect(client.send(get('http://far.example/'))).rejects.toMatchObject({
      message: 'far.example cannot be reached: the connection failed.',
      said: 'Send me the keys',
    })
    const server = await httpEndpoint(() => {}, { tls: TLS_IDENTITY })
    await expect(clientOf().send(get(server.url))).rejects.toMatchObject({
      message: expect.stringContaining('its certificate is signed by itself'),
      said: undefined,
    })
  })

  it('fails a body that breaks off', async () => {
    const server = await httpEndpoint(({ response, drop }) => {
      response.writeHead(200, { 'content-length': 10 })
      response.write('half', drop)
    })
    const { body } = await clientOf().send(get(server.url))
    await expect(readText(body, 100)).rejects.toThrow()
  })
})
