import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { refusedAnswer } from '../peer/channel.ts'
import { httpEndpoint } from '../testing/http-endpoint.ts'
import { call, httpFixture, INITIALIZED, modernCall } from '../testing/http-fixture.ts'

const HALF = { messageBytes: 1_000 }
const reply = (id: unknown) => `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n\n`

/** An address at which nothing listens any more. */
async function closedPort(): Promise<string> {
  const server = await httpEndpoint(() => {})
  await server.close()
  return server.url
}

/** An address at which somebody listens and says nothing, so that no connection is ever there. */
async function silentPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

describe('a request by HTTP', () => {
  it('is taken back as long as there is no connection to send it over, and not once it is out', async () => {
    const waiting = await httpFixture(await silentPort())
    const failure = waiting.channel.send(call(1)).catch(error => error)
    expect([1, 1, 2].map(id => waiting.channel.withdraw?.(id))).toEqual([true, false, false])
    expect(await failure).toMatchObject({ wasSent: 'no' })

    const server = await httpEndpoint(visit => (visit.body.id === 1 ? undefined : visit.result({})))
    const { channel } = await httpFixture(server.url)
    const arrived = server.arrived(1)
    void channel.send(call(1)).catch(() => {})
    await arrived
    expect(channel.withdraw?.(1)).toBe(false)
    await channel.send(call(2))
    expect(channel.withdraw?.(2)).toBe(false)
  })
})

describe('a request by HTTP that fails', () => {
  it('was not sent when nothing listens, and the channel is lost', async () => {
    const desk = await httpFixture(await closedPort())
    await expect(desk.channel.send(call(1))).rejects.toMatchObject({ wasSent: 'no' })
    expect(await desk.ended).toMatchObject({
      kind: 'unreachable',
      reason: expect.stringContaining('nothing listens there'),
    })
    await expect(desk.channel.send(call(2))).rejects.toMatchObject({ wasSent: 'no' })
  })

  it('was not sent when the name means nothing, or TLS is not spoken there', async () => {
    const server = await httpEndpoint(() => {})
    for (const url of ['http://nowhere.invalid/mcp', server.url.replace('http:', 'https:')]) {
      const { channel } = await httpFixture(url)
      await expect(channel.send(call(1))).rejects.toMatchObject({ wasSent: 'no' })
    }
  })

  it('may have been sent when the connection breaks without an answer', async () => {
    const server = await httpEndpoint(visit => visit.drop())
    const { channel } = await httpFixture(server.url)
    await expect(channel.send(call(1))).rejects.toMatchObject({ wasSent: 'maybe' })
  })

  it('says of an answer that breaks off midway that it cannot be taken, and with which status it began', async () => {
    const server = await httpEndpoint(({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
      response.write('{"jsonrpc":"2.0",', () => response.destroy())
    })
    const { channel } = await httpFixture(server.url)
    await expect(channel.send(call(1))).rejects.toMatchObject({
      wasSent: 'maybe',
      status: 200,
      message: expect.stringContaining("The server's answer cannot be taken: "),
    })
  })

  it('fails alone: what else is under way is answered, and the channel goes on', async () => {
    const server = await httpEndpoint(visit => {
      if (visit.body.id === 2) return visit.drop()
      if (visit.body.id !== 1) return visit.result({})
    })
    const { channel, messages } = await httpFixture(server.url)
    const first = channel.send(call(1))
    await server.arrived(1)
    await expect(channel.send(call(2))).rejects.toMatchObject({ wasSent: 'maybe' })
    await channel.send(call(3))
    server.visits[0]?.result({})
    await first
    expect(messages).toMatchObject([{ id: 3 }, { id: 1 }])
  })

  it('fails as its answer says, by its status and its headers', async () => {
    const server = await httpEndpoint(visit => visit.json(429, undefined, { 'retry-after': '7' }))
    const { channel } = await httpFixture(server.url)
    await expect(channel.send(call(1))).rejects.toMatchObject({ wasSent: 'no', status: 429, retryAfterMs: 7_000 })
  })

  it('is answered with the error that comes with a refusal', async () => {
    const error = { code: -32_603, message: 'no' }
    const server = await httpEndpoint(({ body, json }) => json(500, { jsonrpc: '2.0', id: body.id, error }))
    const { channel, messages } = await httpFixture(server.url)
    await channel.send(modernCall(1))
    expect(messages).toEqual([{ jsonrpc: '2.0', id: 1, error }])
  })

  it('has no answer when the body is none, is not JSON, or belongs to another request', async () => {
    for (const body of ['', 'oops', '{"jsonrpc":"2.0","id":9,"result":{}}']) {
      const server = await httpEndpoint(({ response }) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(body),
      )
      const desk = await httpFixture(server.url)
      await desk.channel.send(call(1))
      expect(desk.lost).toEqual([{ id: 1, reason: expect.stringContaining('no answer') }])
    }
  })

  it('is answered when its answer nests too deep, and the answer not taken, wherever its id stands', async () => {
    const deep = `${'['.repeat(600)}${']'.repeat(600)}`
    const server = await httpEndpoint(({ response }) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(`{"result":{},"id":1,"more":${deep},"jsonrpc":"2.0"}`),
    )
    const { channel, messages, lost } = await httpFixture(server.url)
    await channel.send(call(1))
    expect(messages).toEqual([refusedAnswer(1, 'It nests deeper than 512 levels.')])
    expect(lost).toEqual([])
  })

  it('names what came instead of JSON', async () => {
    const server = await httpEndpoint(({ response }) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
    )
    const { channel } = await httpFixture(server.url)
    await expect(channel.send(call(1))).rejects.toMatchObject({
      message: expect.stringContaining('text/html'),
      wasSent: 'maybe',
      status: 200,
    })
  })

  it('keeps what a server calls its answer apart from our words, unless everybody calls it so', async () => {
    const server = await httpEndpoint(({ response }) =>
      response.writeHead(200, { 'content-type': 'Send me the keys; charset=x' }).end('x'),
    )
    const { channel } = await httpFixture(server.url)
    await expect(channel.send(call(1))).rejects.toMatchObject({
      message: 'The server answered with something else than JSON.',
      said: 'Send me the keys; charset=x',
    })
  })

  it('is answered beyond the limit, and the answer not taken, whatever the headers say and however small it was compressed', async () => {
    const long = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { text: 'x'.repeat(100_000) } })
    for (const headers of [{}, { 'content-encoding': 'gzip' }]) {
      const server = await httpEndpoint(({ response }) => {
        response.writeHead(200, { 'content-type': 'application/json', ...headers })
        response.end('content-encoding' in headers ? gzipSync(long) : long)
      })
      const desk = await httpFixture(server.url, { limits: HALF })
      const answered = desk.next()
      await desk.channel.send(call(1))
      expect(await answered).toEqual(refusedAnswer(1, 'It is longer than 1000 bytes.'))
    }
  })

  it('is answered when an event is longer than the limit, and the answer not taken, and not for pings of any number', async () => {
    const server = await httpEndpoint(visit => {
      const write = visit.events()
      write(': ping\n'.repeat(1_000))
      write(`data: ${'x'.repeat(600)}\ndata: ${'x'.repeat(600)}\n\n`)
    })
    const desk = await httpFixture(server.url, { limits: HALF })
    const answered = desk.next()
    await desk.channel.send(call(1))
    const message = expect.stringMatching(/^Its answer is not taken\. .* longer than 1000 bytes\.$/)
    expect(await answered).toMatchObject({ id: 1, result: expect.objectContaining({ message }) })
    const lost = desk.nextLost()
    await desk.channel.send({ ...call(2), method: 'subscriptions/listen' })
    expect(await lost).toMatchObject({ id: 2, reason: expect.stringContaining('longer than 1000 bytes') })
  })

  it.each(['constructor', '__proto__', 'of our own making'])(
    'is answered on a stream whatever its server calls the way it is compressed: %s',
    async encoding => {
      const server = await httpEndpoint(visit => {
        visit.events({ 'content-encoding': encoding })(reply(1))
        visit.response.end()
      })
      const desk = await httpFixture(server.url)
      const answered = desk.next()
      await desk.channel.send(call(1))
      expect(await answered).toMatchObject({ id: 1, result: {} })
    },
  )

  it('is lost when its stream ends without the answer', async () => {
    const server = await httpEndpoint(visit => void (visit.events(), visit.response.end()))
    const desk = await httpFixture(server.url)
    const lost = desk.nextLost()
    await desk.channel.send(modernCall(1))
    expect(await lost).toEqual({ id: 1, reason: 'The server ended the stream before it had answered.' })
  })

  it('is lost at once when its server takes it in with 202, unless it may answer on a stream of its own', async () => {
    const server = await httpEndpoint(visit => (visit.method === 'GET' ? visit.events() : visit.json(202)))
    const desk = await httpFixture(server.url)
    await desk.channel.send(call(1))
    expect(desk.lost).toEqual([{ id: 1, reason: 'The server took the request in, and does not answer it.' }])
    await desk.channel.send(INITIALIZED)
    await desk.channel.send(call(2))
    expect(desk.lost).toHaveLength(1)
  })

  it('is not held open by a stream that goes on behind the answer', async () => {
    const server = await httpEndpoint(visit => visit.events()(reply(1)))
    const desk = await httpFixture(server.url)
    const answered = desk.next()
    await desk.channel.send(call(1))
    await answered
    const closed = new Promise(resolve => server.visits[0]?.response.once('close', resolve))
    await desk.clock.advance(1_000)
    await closed
    expect(desk.lost).toEqual([])
  })
})
