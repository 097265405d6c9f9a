import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { call, httpDesk, INITIALIZE, INITIALIZED, modernCall, PING } from '../testing/http-desk.ts'
import { httpEndpoint } from '../testing/http-endpoint.ts'
import type { HttpAuth } from './http-auth.ts'

const LIST = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} } as const

const HALF = { messageBytes: 1_000 }
const reply = (id: unknown) => `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n\n`

/** An address at which nothing listens any more. */
async function closedPort(): Promise<string> {
  const server = await httpEndpoint(() => {})
  await server.close()
  return server.url
}

describe('a request by HTTP that fails', () => {
  it('was not sent when nothing listens, and the channel is lost', async () => {
    const desk = await httpDesk(await closedPort())
    await expect(desk.channel.send(call(1))).rejects.toMatchObject({ wasSent: 'no' })
    expect(await desk.ended).toMatchObject({ kind: 'lost', reason: expect.stringContaining('nothing listens there') })
    await expect(desk.channel.send(call(2))).rejects.toMatchObject({ wasSent: 'no' })
  })

  it('was not sent when the name means nothing, or TLS is not spoken there', async () => {
    const server = await httpEndpoint(() => {})
    for (const url of ['http://nowhere.invalid/mcp', server.url.replace('http:', 'https:')]) {
      const { channel } = await httpDesk(url)
      await expect(channel.send(call(1))).rejects.toMatchObject({ wasSent: 'no' })
    }
  })

  it('may have been sent when the connection breaks without an answer', async () => {
    const server = await httpEndpoint(visit => visit.drop())
    const { channel } = await httpDesk(server.url)
    await expect(channel.send(call(1))).rejects.toMatchObject({ wasSent: 'maybe' })
  })

  it('fails alone: what else is under way is answered, and the channel goes on', async () => {
    const server = await httpEndpoint(visit => {
      if (visit.body.id === 2) return visit.drop()
      if (visit.body.id !== 1) return visit.result({})
    })
    const { channel, messages } = await httpDesk(server.url)
    const first = channel.send(call(1))
    await server.arrived(1)
    await expect(channel.send(call(2))).rejects.toMatchObject({ wasSent: 'maybe' })
    await channel.send(call(3))
    server.visits[0]?.result({})
    await first
    expect(messages).toMatchObject([{ id: 3 }, { id: 1 }])
  })

  it.each([500, 502, 503, 504])('may have been sent when the answer is %i', async status => {
    const server = await httpEndpoint(visit => visit.json(status))
    const { channel } = await httpDesk(server.url)
    await expect(channel.send(call(1))).rejects.toMatchObject({ wasSent: 'maybe', status })
  })

  it.each([
    [429, '7', 7_000],
    [503, '100000', 24 * 3_600_000],
    [503, '99999999999', 24 * 3_600_000],
    [503, 'Tue, 14 Nov 2023 22:13:25 GMT', 5_000],
    [503, 'Tue, 14 Nov 2023 22:13:15 GMT', 0],
    [429, 'soon', 1_000],
    [429, '-5', 1_000],
    [429, '1.5', 1_000],
    [429, undefined, 1_000],
  ])('was not sent when the server is busy: %i with Retry-After %s', async (status, header, retryAfterMs) => {
    const server = await httpEndpoint(visit =>
      visit.json(status, undefined, header === undefined ? {} : { 'retry-after': header }),
    )
    const { channel } = await httpDesk(server.url)
    await expect(channel.send(call(1))).rejects.toMatchObject({ wasSent: 'no', status, retryAfterMs })
  })

  it.each([undefined, 'soon'])('may have been sent when a 503 does not say when to come back: %s', async header => {
    const server = await httpEndpoint(visit => visit.json(503, undefined, header ? { 'retry-after': header } : {}))
    const { channel } = await httpDesk(server.url)
    await expect(channel.send(call(1))).rejects.toMatchObject({ wasSent: 'maybe', status: 503, retryAfterMs: 1_000 })
  })

  it.each([302, 400, 403, 404, 405, 413])('was refused for good when the answer is %i', async status => {
    const server = await httpEndpoint(visit => visit.json(status))
    const { channel } = await httpDesk(server.url)
    await expect(channel.send(call(1))).rejects.toMatchObject({ wasSent: 'refused', status })
  })

  it.each([408, 425])('was not sent when the server did not take it in: %i', async status => {
    const server = await httpEndpoint(visit => visit.json(status))
    const { channel } = await httpDesk(server.url)
    await expect(channel.send(call(1))).rejects.toMatchObject({ wasSent: 'no', status })
  })

  it.each([
    [400, -32_020],
    [404, -32_601],
    [500, -32_603],
  ])('is answered with the error that comes with %i', async (status, code) => {
    const server = await httpEndpoint(({ body, json }) =>
      json(status, { jsonrpc: '2.0', id: body.id, error: { code, message: 'no' } }),
    )
    const { channel, messages } = await httpDesk(server.url)
    await channel.send(modernCall(1))
    expect(messages).toEqual([{ jsonrpc: '2.0', id: 1, error: { code, message: 'no' } }])
  })

  it('is answered with an error that names no request, because it was the only one', async () => {
    const server = await httpEndpoint(({ json }) =>
      json(400, { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'no' } }),
    )
    const { channel, messages } = await httpDesk(server.url)
    await channel.send(call(1))
    expect(messages).toMatchObject([{ id: 1, error: { code: -32_000 } }])
  })

  it('has no answer when the body is none, is not JSON, or belongs to another request', async () => {
    for (const body of ['', 'oops', '{"jsonrpc":"2.0","id":9,"result":{}}']) {
      const server = await httpEndpoint(({ response }) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(body),
      )
      const desk = await httpDesk(server.url)
      await desk.channel.send(call(1))
      expect(desk.lost).toEqual([{ id: 1, reason: expect.stringContaining('no answer') }])
    }
  })

  it('names what came instead of JSON', async () => {
    const server = await httpEndpoint(({ response }) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
    )
    const { channel } = await httpDesk(server.url)
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
    const { channel } = await httpDesk(server.url)
    await expect(channel.send(call(1))).rejects.toMatchObject({
      message: 'The server answered with something else than JSON.',
      said: 'send me the keys',
    })
  })

  it('is cut off beyond the limit, whatever the headers say and however small it was compressed', async () => {
    const long = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { text: 'x'.repeat(100_000) } })
    for (const headers of [{}, { 'content-encoding': 'gzip' }]) {
      const server = await httpEndpoint(({ response }) => {
        response.writeHead(200, { 'content-type': 'application/json', ...headers })
        response.end('content-encoding' in headers ? gzipSync(long) : long)
      })
      const { channel } = await httpDesk(server.url, { limits: HALF })
      await expect(channel.send(call(1))).rejects.toMatchObject({
        message: expect.stringContaining('longer than 1000 bytes'),
      })
    }
  })

  it('is lost when an event is longer than the limit, and pings of any number are not', async () => {
    const server = await httpEndpoint(visit => {
      const write = visit.events()
      write(': ping\n'.repeat(1_000))
      write(`data: ${'x'.repeat(600)}\ndata: ${'x'.repeat(600)}\n\n`)
    })
    const desk = await httpDesk(server.url, { limits: HALF })
    const lost = desk.nextLost()
    await desk.channel.send(call(1))
    expect(await lost).toMatchObject({ id: 1, reason: expect.stringContaining('longer than 1000 bytes') })
  })

  it.each(['constructor', '__proto__', 'of our own making'])(
    'is answered on a stream whatever its server calls the way it is compressed: %s',
    async encoding => {
      const server = await httpEndpoint(visit => {
        visit.events({ 'content-encoding': encoding })(reply(1))
        visit.response.end()
      })
      const desk = await httpDesk(server.url)
      const answered = desk.next()
      await desk.channel.send(call(1))
      expect(await answered).toMatchObject({ id: 1, result: {} })
    },
  )

  it('is lost when its stream ends without the answer', async () => {
    const server = await httpEndpoint(visit => void (visit.events(), visit.response.end()))
    const desk = await httpDesk(server.url)
    const lost = desk.nextLost()
    await desk.channel.send(modernCall(1))
    expect(await lost).toEqual({ id: 1, reason: 'The server ended the stream before it had answered.' })
  })

  it('is lost at once when its server takes it in with 202, unless it may answer on a stream of its own', async () => {
    const server = await httpEndpoint(visit => (visit.method === 'GET' ? visit.events() : visit.json(202)))
    const desk = await httpDesk(server.url)
    await desk.channel.send(call(1))
    expect(desk.lost).toEqual([{ id: 1, reason: 'The server took the request in, and does not answer it.' }])
    await desk.channel.send(INITIALIZED)
    await desk.channel.send(call(2))
    expect(desk.lost).toHaveLength(1)
  })

  it('is not held open by a stream that goes on behind the answer', async () => {
    const server = await httpEndpoint(visit => visit.events()(reply(1)))
    const desk = await httpDesk(server.url)
    const answered = desk.next()
    await desk.channel.send(call(1))
    await answered
    const closed = new Promise(resolve => server.visits[0]?.response.once('close', resolve))
    await desk.clock.advance(1_000)
    await closed
    expect(desk.lost).toEqual([])
  })
})

describe('a legacy session by HTTP', () => {
  const said = (message: string, id: unknown = null) => ({ jsonrpc: '2.0', id, error: { code: -32_000, message } })

  it.each([
    [400, said('Bad Request: No valid session ID provided')],
    [400, said('Bad Request: Missing session ID', 'server-error')],
    [400, said('Session not found')],
    [404, said('Session not found')],
    [404, said('Invalid or expired session. Please re-initialize the session.', 2)],
  ])('is lost when the server has forgotten it (%i), and the request was not carried out', async (status, body) => {
    const server = await httpEndpoint(visit =>
      visit.body.method === 'initialize' ? visit.result({}, { 'mcp-session-id': 's' }) : visit.json(status, body),
    )
    const desk = await httpDesk(server.url)
    await desk.channel.send(INITIALIZE)
    await expect(desk.channel.send(call(2))).rejects.toMatchObject({ wasSent: 'no' })
    expect(await desk.ended).toEqual({ kind: 'sessionLost', reason: 'The server has forgotten the session.' })
  })

  it.each([undefined, said('Not found')])(
    'is in doubt when a request is answered with 404 and %j, and lost when a ping is too',
    async body => {
      const server = await httpEndpoint(visit =>
        visit.body.method === 'initialize' ? visit.result({}, { 'mcp-session-id': 's' }) : visit.json(404, body),
      )
      const desk = await httpDesk(server.url)
      await desk.channel.send(INITIALIZE)
      for (const message of [call(2), PING])
        await expect(desk.channel.send(message)).rejects.toMatchObject({ wasSent: 'turnedAway', status: 404 })
      expect(await desk.ended).toEqual({ kind: 'sessionLost', reason: 'The server has forgotten the session.' })
    },
  )

  it.each([
    [404, 'sessionLost'],
    [401, 'unauthorized'],
  ])(
    'in which calls are answered with %i goes on for as long as what was listed in it is listed, and is then %s',
    async (status, kind) => {
      let isKnown = true
      const server = await httpEndpoint(({ body, result, json }) => {
        if (body.method === 'initialize') return result({}, { 'mcp-session-id': 's' })
        return body.method === 'ping' || (isKnown && body.method === 'tools/list') ? result({}) : json(status)
      })
      const desk = await httpDesk(server.url)
      await desk.channel.send(INITIALIZE)
      await desk.channel.send(LIST)
      const refused = (ids: readonly number[]) =>
        Promise.all(
          ids.map(id => expect(desk.channel.send(call(id))).rejects.toMatchObject({ wasSent: 'turnedAway', status })),
        )
      await refused([3, 4, 5])
      await refused([6])
      await desk.channel.send(LIST)
      isKnown = false
      await refused([7])
      expect(await desk.ended).toMatchObject({ kind })
      await expect(desk.channel.send(LIST)).rejects.toMatchObject({ wasSent: 'no' })
    },
  )

  it('has no stream where that alone is refused, and is not asked for it again', async () => {
    const server = await httpEndpoint(({ method, body, result, json }) => {
      if (method === 'GET') return json(401)
      return body.method === 'ping' ? result({}) : json(202)
    })
    const desk = await httpDesk(server.url)
    await desk.channel.send(INITIALIZED)
    await expect
      .poll(() => desk.lines)
      .toEqual(['Nothing is heard from it beside its answers. The server has no such stream.'])
    expect(server.visits.map(({ method, body }) => body.method ?? method)).toEqual([
      'notifications/initialized',
      'GET',
      'ping',
    ])
  })

  it('is asked about with a ping when its stream is refused in a way that may be about all of it', async () => {
    const server = await httpEndpoint(visit => {
      if (visit.body.method === 'initialize') return visit.result({}, { 'mcp-session-id': 's' })
      visit.json(visit.body.method === 'notifications/initialized' ? 202 : 401)
    })
    const desk = await httpDesk(server.url)
    await desk.channel.send(INITIALIZE)
    await desk.channel.send(INITIALIZED)
    expect(await desk.ended).toMatchObject({ kind: 'unauthorized' })
    expect(server.visits.map(({ method, body }) => body.method ?? method)).toEqual([
      'initialize',
      'notifications/initialized',
      'GET',
      'ping',
    ])
  })

  it('that is lost is not waited for when the connection is closed', async () => {
    const server = await httpEndpoint(visit => {
      if (visit.body.method === 'initialize') return visit.result({}, { 'mcp-session-id': 's' })
      if (visit.body.method === 'ping') visit.json(404)
    })
    const desk = await httpDesk(server.url)
    await desk.channel.send(INITIALIZE)
    const under = desk.channel.send(call(2))
    under.catch(() => {})
    await server.arrived(2)
    await desk.channel.send(PING).catch(() => {})
    const end = await desk.ended
    await desk.channel.close(end)
    const closed = new Promise(resolve => server.visits[1]?.response.once('close', resolve))
    await desk.channel.close()
    await expect(under).rejects.toMatchObject({ wasSent: 'maybe' })
    await closed
  })

  it('that is lost lets be answered what is under way, for a time', async () => {
    const server = await httpEndpoint(visit => {
      if (visit.body.method === 'initialize') return visit.result({}, { 'mcp-session-id': 's' })
      if (visit.body.method === 'ping') visit.json(404)
      if (visit.body.id === 2) visit.events()
    })
    const desk = await httpDesk(server.url, { limits: { finishMs: 60_000 } })
    await desk.channel.send(INITIALIZE)
    const calls = Promise.allSettled([call(2), call(3), call(4)].map(one => desk.channel.send(one)))
    await server.arrived(4)
    await desk.channel.send(PING).catch(() => {})
    await desk.ended
    await expect(desk.channel.send(call(5))).rejects.toMatchObject({ wasSent: 'no' })
    const answered = desk.next()
    server.visits.find(({ body }) => body.id === 3)?.result({})
    expect(await answered).toMatchObject({ id: 3 })
    await desk.clock.advance(60_000)
    await calls
    expect(desk.lost.map(({ id }) => id)).toEqual([2, 4])
  })

  it('is lost when a server says so in plain text', async () => {
    const server = await httpEndpoint(visit =>
      visit.body.method === 'initialize'
        ? visit.result({}, { 'mcp-session-id': 's' })
        : visit.response.writeHead(400, { 'content-type': 'text/plain' }).end('Invalid session ID\n'),
    )
    const desk = await httpDesk(server.url)
    await desk.channel.send(INITIALIZE)
    await expect(desk.channel.send(call(2))).rejects.toMatchObject({ wasSent: 'no' })
    expect(await desk.ended).toMatchObject({ kind: 'sessionLost' })
  })

  it.each([
    [400, said('The session of the shop is not valid', 2)],
    [400, said('Session not found', 2)],
    [400, said('The argument "session" is missing')],
    [400, said('No session of this kind is planned')],
    [404, said('Issue 17 not found', 2)],
  ])('goes on when it is the request that a server finds wrong: %i with %j', async (status, body) => {
    const server = await httpEndpoint(visit =>
      visit.body.method === 'initialize' ? visit.result({}, { 'mcp-session-id': 's' }) : visit.json(status, body),
    )
    const desk = await httpDesk(server.url)
    await desk.channel.send(INITIALIZE)
    await desk.channel.send(call(2))
    expect(desk.messages).toMatchObject([{ id: 'first' }, { id: 2, error: { message: body.error.message } }])
  })

  it('is left without waiting for a server that does not let us go', async () => {
    const server = await httpEndpoint(visit =>
      visit.body.method === 'initialize' ? visit.result({}, { 'mcp-session-id': 's' }) : undefined,
    )
    const desk = await httpDesk(server.url)
    await desk.channel.send(INITIALIZE)
    const closing = desk.channel.close()
    await server.arrived(2)
    await desk.clock.advance(2_000)
    await closing
    expect(server.visits[1]?.method).toBe('DELETE')
  })

  it('is left without waiting for an issuer that does not say who we are', async () => {
    const server = await httpEndpoint(visit => visit.result({}, { 'mcp-session-id': 's' }))
    let isAway = false
    const auth: HttpAuth = {
      token: async () => (isAway ? new Promise(() => {}) : 'token'),
      renew: async () => 'signIn',
      lacking() {},
    }
    const desk = await httpDesk(server.url, { auth })
    await desk.channel.send(INITIALIZE)
    isAway = true
    const closing = desk.channel.close()
    await desk.clock.advance(2_000)
    await closing
    expect(await desk.ended).toMatchObject({ kind: 'closed' })
  })
})

describe('a server by HTTP that wants to know who we are', () => {
  const auth = (parts: Partial<HttpAuth>): HttpAuth => ({
    token: async () => 'old',
    renew: async () => 'signIn',
    lacking() {},
    ...parts,
  })

  it('gets a renewed token with the same request, once', async () => {
    let token = 'old'
    const server = await httpEndpoint(visit =>
      visit.headers.authorization === 'Bearer new' ? visit.result({}) : visit.json(401),
    )
    const renew = async () => ((token = 'new'), 'renewed' as const)
    const { channel, messages } = await httpDesk(server.url, { auth: auth({ token: async () => token, renew }) })
    await channel.send(call(1))
    expect(messages).toHaveLength(1)
    expect(server.visits).toHaveLength(2)
  })

  it('ends the channel when only a person can help, or a new token is refused as well', async () => {
    const server = await httpEndpoint(visit => visit.json(401))
    for (const renew of [async () => 'signIn' as const, async () => 'renewed' as const]) {
      const desk = await httpDesk(server.url, { auth: auth({ renew }) })
      await expect(desk.channel.send(PING)).rejects.toMatchObject({ wasSent: 'turnedAway', status: 401 })
      expect(await desk.ended).toMatchObject({
        kind: 'unauthorized',
        reason: expect.stringContaining('quartermaster login files'),
      })
    }
  })

  it.each([
    ['an "Authorization"', { Authorization: 'Bearer wrong' }, '', 'headers.Authorization'],
    ['a key in another header', { 'X-Team': 'red', 'X-Api-Key': 'wrong' }, '', 'headers.X-Api-Key'],
    ['a name and a password', {}, 'ann:wrong@', 'url'],
  ])('sends nobody to sign in who has configured %s that it does not take', async (_, headers, user, setting) => {
    const server = await httpEndpoint(visit => visit.json(401))
    const url = server.url.replace('//', `//${user}`)
    const desk = await httpDesk(url, { headers, auth: auth({ token: async () => undefined }) })
    await desk.channel.send(PING).catch(() => {})
    expect(await desk.ended).toEqual({
      kind: 'unauthorized',
      reason: `"files" does not take the key that it is sent. Change "${setting}" in its entry, or the secret named there.`,
    })
  })

  it('sends whoever has a key to sign in where the server says that it is to be done', async () => {
    const challenge = { 'www-authenticate': 'Bearer resource_metadata="https://x.example/meta"' }
    const server = await httpEndpoint(visit => visit.json(401, undefined, challenge))
    const options = { headers: { 'X-Api-Key': 'wrong' }, auth: auth({ token: async () => undefined }) }
    const desk = await httpDesk(server.url, options)
    await desk.channel.send(PING).catch(() => {})
    expect(await desk.ended).toMatchObject({ reason: expect.stringContaining('quartermaster login files') })
  })

  it('is told what it lacks by the challenge, word for word', async () => {
    const header = 'Bearer error="invalid_token", scope="a b", resource_metadata="https://x.example/meta"'
    const server = await httpEndpoint(visit => visit.json(401, undefined, { 'www-authenticate': header }))
    const seen: unknown[] = []
    const renew: HttpAuth['renew'] = async (refused, challenge) => (seen.push(refused, challenge), 'signIn')
    const { channel } = await httpDesk(server.url, { auth: auth({ renew }) })
    await channel.send(call(1)).catch(() => {})
    expect(seen).toEqual(['old', { error: 'invalid_token', scope: 'a b', resourceMetadata: 'https://x.example/meta' }])
  })

  it('stays usable when one request wants more rights than there are', async () => {
    const lacking: unknown[] = []
    const server = await httpEndpoint(visit =>
      visit.body.id === 1
        ? visit.json(403, undefined, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="write"' })
        : visit.result({}),
    )
    const desk = await httpDesk(server.url, { auth: auth({ lacking: challenge => void lacking.push(challenge) }) })
    await expect(desk.channel.send(call(1))).rejects.toMatchObject({ wasSent: 'refused', status: 403 })
    expect(lacking).toMatchObject([{ scope: 'write' }])
    await desk.channel.send(call(2))
    expect(desk.messages).toHaveLength(1)
  })

  it('is not given up for an issuer that cannot be asked', async () => {
    const server = await httpEndpoint(visit => visit.json(401))
    const renew = () => Promise.reject(new Error('The issuer is away.'))
    const desk = await httpDesk(server.url, { auth: auth({ renew }) })
    await expect(desk.channel.send(call(1))).rejects.toMatchObject({ wasSent: 'no', message: 'The issuer is away.' })
  })
})
