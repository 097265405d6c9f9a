import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { httpEndpoint, type Visit } from '../testing/http-endpoint.ts'
import { call, httpFixture, INITIALIZE, INITIALIZED, modernCall } from '../testing/http-fixture.ts'

const REPLY = (id: unknown) => JSON.stringify({ jsonrpc: '2.0', id, result: { ok: true } })

/** Answers the beginning of a legacy session, and the rest as told. */
function legacy(rest: (visit: Visit) => unknown) {
  return (visit: Visit) => {
    if (visit.body.method === 'initialize') return visit.result({}, { 'mcp-session-id': 's1' })
    if (visit.body.method === 'notifications/initialized') return visit.json(202)
    return rest(visit)
  }
}

describe('a channel by HTTP', () => {
  it('hands over an answer as the server sent it, fields that nobody knows included', async () => {
    const result = { content: [{ type: 'new', x: 1 }], _meta: { 'a/b': [1, null] }, more: true }
    const server = await httpEndpoint(visit => visit.result(result))
    const { channel, messages } = await httpFixture(server.url)
    await channel.send(call(1))
    expect(messages).toEqual([{ jsonrpc: '2.0', id: 1, result }])
  })

  it('tells that the server ended a connection, now and then, and not that we did', async () => {
    const server = await httpEndpoint(visit => (visit.body.id === 0 ? undefined : visit.result({})))
    const desk = await httpFixture(server.url)
    const end = async (id: number) => {
      await desk.channel.send(call(id))
      server.dropAll()
    }
    await end(1)
    await expect.poll(desk.broken).toBe(1)
    await end(2)
    // It may still meet the connection that is ended.
    await desk.channel.send(call(3)).catch(() => {})
    expect(desk.broken()).toBe(1)
    await desk.clock.advance(10_000)
    await end(4)
    await expect.poll(desk.broken).toBe(2)
    await desk.clock.advance(10_000)
    const giveUp = new AbortController()
    const arrived = server.arrived(server.visits.length + 1)
    const givenUp = desk.channel.send(call(0), { signal: giveUp.signal })
    await arrived
    const gone = once(server.visits.at(-1)?.response as Visit['response'], 'close')
    giveUp.abort()
    await expect(givenUp).rejects.toThrow('it was cancelled')
    await gone
    expect(desk.broken()).toBe(2)
    // One that goes on to is told of ever more seldom.
    await end(5)
    await desk.channel.send(call(6)).catch(() => {})
    expect(desk.broken()).toBe(2)
  })

  it('hands over what comes on a stream in its order, the answer last', async () => {
    const server = await httpEndpoint(visit => {
      const write = visit.events()
      write(': hello\n\nevent: message\ndata: {"jsonrpc":"2.0",\ndata: "method":"notifications/progress"}\r\n\r\n')
      write(`event: other\ndata: {}\n\ndata: ${REPLY(1)}\n\n`)
      visit.response.end()
    })
    const desk = await httpFixture(server.url)
    const first = desk.next()
    await desk.channel.send(call(1))
    await first
    if (desk.messages.length < 2) await desk.next()
    expect(desk.messages).toEqual([
      { jsonrpc: '2.0', method: 'notifications/progress' },
      { jsonrpc: '2.0', id: 1, result: { ok: true } },
    ])
    expect(desk.lost).toEqual([])
  })

  it('takes its own answer from several in one body, as of 2025-03-26', async () => {
    const server = await httpEndpoint(visit => visit.json(200, [JSON.parse(REPLY(7)), JSON.parse(REPLY(1))]))
    const { channel, messages } = await httpFixture(server.url)
    await channel.send(call(1))
    expect(messages).toEqual([JSON.parse(REPLY(1))])
  })

  it('repeats in headers what a request of 2026-07-28 says, and nothing of the session before it', async () => {
    const server = await httpEndpoint(visit => visit.result({}))
    const { channel } = await httpFixture(server.url)
    await channel.send(modernCall(1, { name: 'größe' }), { headers: { 'mcp-param-region': 'eu' } })
    expect(server.visits[0]?.headers).toMatchObject({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': '=?base64?Z3LDtsOfZQ==?=',
      'mcp-param-region': 'eu',
      accept: 'application/json, text/event-stream',
    })
    expect(server.visits[0]?.headers).not.toHaveProperty('mcp-session-id')
  })

  it('keeps a legacy session: its id, its revision, its stream, its end', async () => {
    const listening: Visit[] = []
    const server = await httpEndpoint(
      legacy(visit => {
        if (visit.method === 'DELETE') return visit.json(200)
        if (visit.method !== 'GET') return visit.result({})
        listening.push(visit)
        visit.events()(`data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n`)
      }),
    )
    const desk = await httpFixture(server.url)
    await desk.channel.send(INITIALIZE)
    desk.channel.agreed?.('2025-06-18')
    const told = desk.next()
    await desk.channel.send(INITIALIZED)
    expect(await told).toMatchObject({ method: 'notifications/tools/list_changed' })
    await desk.channel.send(call(2))
    await desk.channel.close()
    expect(await desk.ended).toEqual({ kind: 'closed', reason: 'The connection was closed.' })
    const sent = server.visits
      .slice(1)
      .map(({ method, headers }) => [method, headers['mcp-session-id'], headers['mcp-protocol-version']])
    expect(sent).toEqual([
      ['POST', 's1', '2025-06-18'],
      ['GET', 's1', '2025-06-18'],
      ['POST', 's1', '2025-06-18'],
      ['DELETE', 's1', '2025-06-18'],
    ])
  })

  it.each([404, 405, 400])('does without the stream of a server that answers %i for it', async status => {
    const server = await httpEndpoint(legacy(visit => (visit.method === 'GET' ? visit.json(status) : visit.result({}))))
    const desk = await httpFixture(server.url)
    await desk.channel.send(INITIALIZE)
    await desk.channel.send(INITIALIZED)
    await server.arrived(3)
    await desk.channel.send(call(2))
    expect(desk.messages).toHaveLength(2)
  })

  it('sends what the configuration says and lets it override nothing of the protocol', async () => {
    const server = await httpEndpoint(visit => visit.result({}))
    const headers = {
      'X-Api-Key': 'k',
      'MCP-Session-Id': 'x',
      Host: 'other',
      Accept: 'text/html',
      'Content-Type': 'x/y',
    }
    const { channel } = await httpFixture(server.url, { headers })
    await channel.send(modernCall(1), { headers: { authorization: 'Bearer ours', cookie: 'a=b' } })
    const [visit] = server.visits
    expect(visit?.headers).toMatchObject({ 'x-api-key': 'k', 'content-type': 'application/json' })
    expect(visit?.headers.host).toBe(`127.0.0.1:${server.port}`)
    expect(visit?.headers).not.toHaveProperty('authorization')
    expect(visit?.headers).not.toHaveProperty('cookie')
    expect(visit?.headers).not.toHaveProperty('mcp-session-id')
  })

  it('says who we are as the URL has it, and never in the URL it asks for', async () => {
    const server = await httpEndpoint(visit => visit.result({}))
    const { channel } = await httpFixture(server.url.replace('//', '//some%40one:pass@'))
    await channel.send(call(1))
    const basic = `Basic ${Buffer.from('some@one:pass').toString('base64')}`
    expect(server.visits[0]).toMatchObject({ path: '/mcp', headers: { authorization: basic } })
  })

  it('uses one connection for requests that follow each other', async () => {
    const sockets = new Set<unknown>()
    const server = await httpEndpoint(visit => {
      sockets.add(visit.response.socket)
      visit.result({})
    })
    const { channel } = await httpFixture(server.url)
    for (const id of [1, 2, 3]) {
      await channel.send(call(id))
      // A connection is free again in the next turn of the event loop, in which a call that follows comes at the earliest.
      await new Promise(setImmediate)
    }
    expect(sockets.size).toBe(1)
  })

  it('ends the exchange of a request that is given up', async () => {
    const server = await httpEndpoint(visit => void visit.events())
    const { channel, lost } = await httpFixture(server.url)
    const giveUp = new AbortController()
    await channel.send(modernCall(1), { signal: giveUp.signal })
    const closed = new Promise(resolve => server.visits[0]?.response.once('close', resolve))
    giveUp.abort()
    await closed
    expect(lost).toEqual([])
  })

  it('ends the exchange of a legacy request once the server was told that it is cancelled', async () => {
    const server = await httpEndpoint(visit => (visit.body.id === 1 ? void visit.events() : visit.json(202)))
    const { channel } = await httpFixture(server.url)
    await channel.send(call(1))
    const closed = new Promise(resolve => server.visits[0]?.response.once('close', resolve))
    await channel.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
    await closed
    expect(server.visits).toHaveLength(2)
  })

  it('decompresses what a server compressed unasked', async () => {
    const server = await httpEndpoint(visit => {
      visit.response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      visit.response.end(gzipSync(REPLY(1)))
    })
    const { channel, messages } = await httpFixture(server.url)
    await channel.send(call(1))
    expect(messages).toHaveLength(1)
  })

  it('follows a redirect within the origin', async () => {
    const server = await httpEndpoint(visit =>
      visit.path === '/mcp' ? visit.json(308, undefined, { location: '/v2/mcp' }) : visit.result({}),
    )
    const { channel, messages } = await httpFixture(server.url, { headers: { 'x-api-key': 'k' } })
    await channel.send(call(1))
    expect(messages).toHaveLength(1)
    expect(server.visits[1]).toMatchObject({ path: '/v2/mcp', method: 'POST', headers: { 'x-api-key': 'k' } })
  })

  it('follows one to a path also from an address with a name and a password, which go along', async () => {
    const server = await httpEndpoint(visit =>
      visit.path === '/mcp' ? visit.json(307, undefined, { location: '/mcp/' }) : visit.result({}),
    )
    const { channel, messages } = await httpFixture(server.url.replace('//', '//ann:secret@'))
    await channel.send(call(1))
    expect(messages).toHaveLength(1)
    const authorization = `Basic ${Buffer.from('ann:secret').toString('base64')}`
    expect(server.visits.map(visit => visit.headers.authorization)).toEqual([authorization, authorization])
  })

  it('follows none that names somebody else', async () => {
    const server = await httpEndpoint(visit =>
      visit.json(307, undefined, { location: `//eve:x@${visit.headers.host}/` }),
    )
    const { channel } = await httpFixture(server.url.replace('//', '//ann:secret@'))
    await expect(channel.send(call(1))).rejects.toMatchObject({ status: 307 })
    expect(server.visits).toHaveLength(1)
  })

  it('never follows one elsewhere, so that no credential gets there', async () => {
    const elsewhere = await httpEndpoint(visit => visit.result({}))
    const server = await httpEndpoint(visit => visit.json(307, undefined, { location: elsewhere.url }))
    const { channel } = await httpFixture(server.url, { headers: { authorization: 'Bearer k' } })
    await expect(channel.send(call(1))).rejects.toMatchObject({ wasSent: 'refused', status: 307 })
    expect(elsewhere.visits).toEqual([])
  })
})
