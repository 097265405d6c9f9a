import { describe, expect, it } from 'vitest'
import { createFakeClock, whileAdvancing } from '../../../testing/fake-clock.ts'
import { httpEndpoint } from '../testing/http-endpoint.ts'
import { call, httpFixture, INITIALIZE, INITIALIZED, PING } from '../testing/http-fixture.ts'
import type { HttpChannelOptions } from './http-channel.ts'
import { createSessionRenewalLimit, SOONEST_TRIAL_MS } from './http-rejections.ts'
import type { HttpAuth } from './http-sender.ts'

const LIST = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} } as const

/** A channel in a session whose calls are refused, and nothing else until the server forgets what it has listed. */
async function refusing(status: number, options: Partial<HttpChannelOptions> = {}) {
  let isKnown = true
  const server = await httpEndpoint(({ body, result, json }) => {
    if (body.method === 'initialize') return result({}, { 'mcp-session-id': 's' })
    return body.method === 'ping' || (isKnown && body.method === 'tools/list') ? result({}) : json(status)
  })
  const desk = await httpFixture(server.url, options)
  await desk.channel.send(INITIALIZE)
  await desk.channel.send(LIST)
  return {
    ...desk,
    forget: () => void (isKnown = false),
    async refused(...ids: number[]) {
      // Whoever has forgotten the session has surely not run what was called in it.
      const failure = { wasSent: isKnown || status !== 404 ? 'turnedAway' : 'no', status }
      await Promise.all(ids.map(id => expect(desk.channel.send(call(id))).rejects.toMatchObject(failure)))
    },
  }
}

describe('a legacy session by HTTP', () => {
  it('is lost when the server says that it has forgotten it, and the request was not carried out', async () => {
    const server = await httpEndpoint(visit =>
      visit.body.method === 'initialize'
        ? visit.result({}, { 'mcp-session-id': 's' })
        : visit.response.writeHead(400, { 'content-type': 'text/plain' }).end('Invalid session ID\n'),
    )
    const desk = await httpFixture(server.url)
    await desk.channel.send(INITIALIZE)
    await expect(desk.channel.send(call(2))).rejects.toMatchObject({ wasSent: 'no' })
    expect(await desk.ended).toEqual({ kind: 'sessionLost', reason: 'The server has forgotten the session.' })
  })

  it('is lost when a call is answered with 404 and a ping is too, and the call was not carried out', async () => {
    const server = await httpEndpoint(visit =>
      visit.body.method === 'initialize' ? visit.result({}, { 'mcp-session-id': 's' }) : visit.json(404),
    )
    const desk = await httpFixture(server.url)
    await desk.channel.send(INITIALIZE)
    await expect(desk.channel.send(call(2))).rejects.toMatchObject({ wasSent: 'no', status: 404 })
    expect(await desk.ended).toEqual({ kind: 'sessionLost', reason: 'The server has forgotten the session.' })
  })

  it('in which calls are answered with 401 goes on for as long as what was listed in it is listed', async () => {
    const desk = await refusing(401)
    await desk.refused(3, 4, 5)
    await desk.refused(6)
    await desk.channel.send(LIST)
    desk.forget()
    await desk.refused(7)
    expect(await desk.ended).toMatchObject({ kind: 'unauthorized' })
    await expect(desk.channel.send(LIST)).rejects.toMatchObject({ wasSent: 'no' })
  })

  it('in which calls are answered with 404 is given up for those that come later, now and then', async () => {
    const clock = createFakeClock()
    const renewalLimit = createSessionRenewalLimit(clock)
    const first = await refusing(404, { renewalLimit })
    await first.refused(3, 4)
    expect(await first.ended).toMatchObject({ kind: 'sessionLost' })
    const second = await refusing(404, { renewalLimit })
    await second.refused(3, 4, 5)
    await second.channel.send(LIST)
    await clock.advance(SOONEST_TRIAL_MS)
    await second.refused(6)
    expect(await second.ended).toMatchObject({ kind: 'sessionLost' })
    const third = await refusing(404, { renewalLimit })
    third.forget()
    await third.refused(3)
    expect(await third.ended).toMatchObject({ kind: 'sessionLost' })
  })

  it('is made anew as often as calls alone tell that it is forgotten, and the same is let in in the next one', async () => {
    let sessions = 0
    const forgotten = new Set<string>()
    const server = await httpEndpoint(({ headers, body, result, json }) => {
      if (body.method === 'initialize') return result({}, { 'mcp-session-id': `s${++sessions}` })
      return body.method === 'tools/call' && forgotten.has(String(headers['mcp-session-id'])) ? json(404) : result({})
    })
    const clock = createFakeClock()
    const renewalLimit = createSessionRenewalLimit(clock)
    for (let session = 1; session <= 5; session++) {
      const desk = await httpFixture(server.url, { renewalLimit })
      await desk.channel.send(INITIALIZE)
      await desk.channel.send(LIST)
      await desk.channel.send(call(3))
      await clock.advance(SOONEST_TRIAL_MS)
      forgotten.add(`s${session}`)
      await expect(desk.channel.send(call(4))).rejects.toMatchObject({ wasSent: 'turnedAway' })
      expect(await desk.ended).toMatchObject({ kind: 'sessionLost' })
    }
  })

  const DOUBTED = (status: number) => ({ reason: { wasSent: 'turnedAway', status } })
  const GONE = (status: number) => ({ reason: { wasSent: 'no', status } })
  it.each([
    // Its own words about the request are the answer.
    [404, 3, 'given', { status: 'fulfilled' }],
    [404, null, 'given', DOUBTED(404)],
    [400, null, 'given', DOUBTED(400)],
    [404, 3, 'refused', GONE(404)],
    [400, null, 'refused', GONE(400)],
    // Nobody can tell, and it may have been done.
    [404, 3, 429, DOUBTED(404)],
    [404, null, 429, DOUBTED(404)],
    [400, null, 503, DOUBTED(400)],
    [404, null, 500, DOUBTED(404)],
    [404, null, 'silent', DOUBTED(404)],
    [404, null, 'never given', DOUBTED(404)],
  ] as const)(
    'of which a call is told that it is not there (%i, id %s) is gone only where its list is not given either: %s',
    async (status, id, list, outcome) => {
      const error = { code: -32_000, message: 'Your session has expired' }
      let listed = 0
      const server = await httpEndpoint(({ body, result, json }) => {
        if (body.method === 'initialize') return result({}, { 'mcp-session-id': 's' })
        const isOther = body.method === 'tools/list' && listed++ > 0
        if (isOther && typeof list === 'number') return json(list)
        if (isOther && list === 'silent') return
        if (body.method !== 'tools/call' && !(isOther && list === 'refused')) return result({})
        json(status, { jsonrpc: '2.0', id, error })
      })
      const desk = await httpFixture(server.url)
      await desk.channel.send(INITIALIZE)
      if (list !== 'never given') await desk.channel.send(LIST)
      const call3 = Promise.allSettled([desk.channel.send(call(3))])
      if (list === 'silent') {
        await server.arrived(4)
        await desk.clock.advance(2_000)
      }
      expect(await call3).toMatchObject([outcome])
      expect(desk.messages.some(one => 'error' in one && one.id === 3)).toBe('status' in outcome)
      // Now and then a new session is tried.
      expect(await desk.ended).toMatchObject({ kind: 'sessionLost' })
    },
  )

  it.each(['resources/read', 'prompts/get'])('goes on when a %s is answered with 404', async method => {
    const desk = await refusing(404)
    const read = { jsonrpc: '2.0', id: 3, method, params: {} } as const
    await expect(desk.channel.send(read)).rejects.toMatchObject({ wasSent: 'turnedAway' })
    await desk.channel.send(LIST)
  })

  it.each([404, 405])(
    'is not lost with a ping that is answered with %i while what was listed is listed',
    async status => {
      const server = await httpEndpoint(({ body, result, json }) => {
        if (body.method === 'initialize') return result({}, { 'mcp-session-id': 's' })
        return body.method === 'ping' ? json(status) : result({})
      })
      const desk = await httpFixture(server.url)
      await desk.channel.send(INITIALIZE)
      await desk.channel.send(LIST)
      await desk.channel.send(PING)
      expect(desk.messages).toContainEqual(expect.objectContaining({ id: 'ping', error: expect.anything() }))
      await desk.channel.send(call(3))
      expect(desk.messages.at(-1)).toMatchObject({ id: 3, result: {} })
    },
  )

  it('has no stream where that alone is refused, and is not asked for it again', async () => {
    const server = await httpEndpoint(({ method, body, result, json }) => {
      if (method === 'GET') return json(401)
      return body.method === 'ping' ? result({}) : json(202)
    })
    const desk = await httpFixture(server.url)
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
    const desk = await httpFixture(server.url)
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
    const desk = await httpFixture(server.url)
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

  it('that nobody gets through to any more lets be answered what is under way, and is not told to end', async () => {
    const server = await httpEndpoint(visit => {
      if (visit.body.method === 'initialize') visit.result({}, { 'mcp-session-id': 's' })
    })
    const desk = await httpFixture(server.url)
    await desk.channel.send(INITIALIZE)
    const under = desk.channel.send(call(2))
    await server.arrived(2)
    await desk.channel.close({ kind: 'unreachable', reason: 'The connection to it is broken.' })
    const answered = desk.next()
    server.visits[1]?.result({})
    expect(await answered).toMatchObject({ id: 2 })
    await under
    expect(server.visits).toHaveLength(2)
  })

  it('that nobody gets through to any more gives up at once an answer whose stream breaks', async () => {
    const server = await httpEndpoint(visit => {
      if (visit.body.method === 'initialize') return visit.result({}, { 'mcp-session-id': 's' })
      visit.events()('id: e1\ndata: \n\n')
    })
    const desk = await httpFixture(server.url)
    await desk.channel.send(INITIALIZE)
    await desk.channel.send(call(2))
    await server.close()
    await whileAdvancing(desk.clock, desk.ended, 50)
    await expect.poll(() => desk.lost.map(({ id }) => id)).toEqual([2])
  })

  it('that is lost lets be answered what is under way, for a time', async () => {
    const server = await httpEndpoint(visit => {
      if (visit.body.method === 'initialize') return visit.result({}, { 'mcp-session-id': 's' })
      if (visit.body.method === 'ping') visit.json(404)
      if (visit.body.id === 2) visit.events()
    })
    const desk = await httpFixture(server.url, { limits: { finishMs: 60_000 } })
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

  it('goes on when it is the request that a server finds wrong', async () => {
    const error = { code: -32_000, message: 'Issue 17 not found' }
    const server = await httpEndpoint(visit =>
      visit.body.method === 'initialize'
        ? visit.result({}, { 'mcp-session-id': 's' })
        : visit.json(404, { jsonrpc: '2.0', id: 2, error }),
    )
    const desk = await httpFixture(server.url)
    await desk.channel.send(INITIALIZE)
    await desk.channel.send(call(2))
    expect(desk.messages).toMatchObject([{ id: 'first' }, { id: 2, error }])
  })

  it('is left without waiting for a server that does not let us go', async () => {
    const server = await httpEndpoint(visit =>
      visit.body.method === 'initialize' ? visit.result({}, { 'mcp-session-id': 's' }) : undefined,
    )
    const desk = await httpFixture(server.url)
    await desk.channel.send(INITIALIZE)
    const closing = desk.channel.close()
    await server.arrived(2)
    await desk.clock.advance(2_000)
    await closing
    expect(server.visits[1]?.method).toBe('DELETE')
  })

  it('is left without a word where it fails, for it may be at work on what was given up', async () => {
    const server = await httpEndpoint(visit => visit.result({}, { 'mcp-session-id': 's' }))
    const left = await httpFixture(server.url)
    await left.channel.send(INITIALIZE)
    await left.channel.close({ kind: 'failing', reason: 'It answers, but its last 5 requests failed.' })
    const closed = await httpFixture(server.url)
    await closed.channel.send(INITIALIZE)
    await closed.channel.close()
    expect(server.visits.map(({ method }) => method)).toEqual(['POST', 'POST', 'DELETE'])
  })

  it('is left without waiting for an issuer that does not say who we are', async () => {
    const server = await httpEndpoint(visit => visit.result({}, { 'mcp-session-id': 's' }))
    let isAway = false
    const auth: HttpAuth = {
      token: async () => (isAway ? new Promise(() => {}) : 'token'),
      renew: async () => 'signIn',
      async lacking() {},
      agent: () => undefined,
    }
    const desk = await httpFixture(server.url, { auth })
    await desk.channel.send(INITIALIZE)
    isAway = true
    const closing = desk.channel.close()
    await desk.clock.advance(2_000)
    await closing
    expect(await desk.ended).toMatchObject({ kind: 'closed' })
  })
})
