import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DEFAULT_SETTINGS } from '../../contracts/index.ts'
import { type Messages, messageHandlers, readerOf } from '../../core/messages/index.ts'
import { createApiService } from '../../core/organisation/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { ADMIN_TOKEN, startHttpServer, type TestServerOptions } from '../../testing/http-server.ts'
import { type MessageFixtureOptions, openDatabase, openMessages } from '../../testing/message-fixture.ts'

async function open(more: TestServerOptions = {}, options: MessageFixtureOptions = {}) {
  const at = await openMessages(options)
  const { organisation, clock } = at
  const over = deferred<void>()
  const messages: Messages = { ...at.messages, follow: (...given) => until(at.messages.follow(...given), over.resolve) }
  const server = await startHttpServer({
    api: {
      service: createApiService(messageHandlers({ messages, organisation })),
      clock,
      identify: organisation.identify,
      expectOrganisation: organisation.organisations.expect,
      onAccessChange: organisation.onAccessChange,
      settings: DEFAULT_SETTINGS,
    },
    ...more,
  })
  onTestFinished(() => server.close(0))
  const tokenOf = async (agent: string, scopes?: readonly ('messages' | 'read')[]) =>
    (await organisation.tokens.create({ agent, scopes })).token
  const ask = async (method: string, path: string, token: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const answer = await fetch(`${server.url}/api/v1${path}`, init)
    return { status: answer.status, body: (await answer.json()) as Record<string, never> }
  }
  const follow = async (token: string, { query = '', lastEventId = '' } = {}) => {
    const headers = { authorization: `Bearer ${token}`, ...(lastEventId && { 'last-event-id': lastEventId }) }
    const answer = await fetch(`${server.url}/api/v1/events${query}`, { headers })
    return { answer, ...framesIn(answer) }
  }
  return { ...at, messages, server, tokenOf, ask, follow, firstOver: over.promise }
}

/** Tells when whoever reads these has gone. */
async function* until<T>(rows: AsyncIterable<T>, end: () => void): AsyncGenerator<T> {
  try {
    yield* rows
  } finally {
    end()
  }
}

/** More than the buffers between two sockets hold. */
const MANY = 16

interface Frame {
  readonly id?: string
  readonly event?: string
  readonly data?: { readonly text?: string; readonly code?: string }
}

/** The frames of a stream, as they come; comments are frames without anything. */
function framesIn({ body }: Response) {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const next = async (): Promise<Frame | undefined> => {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end >= 0) {
        const lines = text.slice(0, end).split('\n')
        text = text.slice(end + 2)
        return Object.fromEntries(lines.flatMap(fieldIn))
      }
      const { value, done } = (await reader?.read()) ?? { done: true }
      if (done) return undefined
      text += value
    }
  }
  const nextEvent = async () => {
    for (;;) {
      const frame = await next()
      if (!frame || frame.event !== undefined) return frame
    }
  }
  onTestFinished(() => reader?.cancel().catch(() => {}))
  return { next, nextEvent, leave: () => reader?.cancel() }
}

function fieldIn(line: string): [string, unknown][] {
  const [, name = '', value = ''] = /^(\w+): (.*)$/.exec(line) ?? []
  return name === '' ? [] : [[name, name === 'data' ? JSON.parse(value) : value]]
}

describe('the API of messages', () => {
  it('carries a message, its answer and the acknowledgement', async () => {
    const { ask, tokenOf, workspaces } = await open()
    const { ada, bob } = await workspaces('ada', 'bob')
    const [asAda, asBob] = [await tokenOf('ada'), await tokenOf('bob')]
    const waiting = ask('GET', '/inbox?waitSeconds=60', asBob)
    const sent = await ask('POST', '/messages', asAda, { to: 'bob', text: 'How many?', idempotencyKey: 'k' })
    expect(sent).toMatchObject({ status: 201, body: { conversationId: expect.any(String) } })
    expect(await ask('POST', '/messages', asAda, { to: 'bob', text: 'How many?', idempotencyKey: 'k' })).toEqual(sent)
    expect(await ask('POST', '/messages', asAda, { to: 'bob', text: 'Other', idempotencyKey: 'k' })).toMatchObject({
      status: 409,
      body: { code: 'IDEMPOTENCY_CONFLICT' },
    })
    const { body } = await waiting
    const [message] = body.messages as unknown as { activityId: string; agentCardUrl: string }[]
    expect(message).toMatchObject({ kind: 'peer_agent', peerId: ada.id, peerName: 'ada', text: 'How many?' })
    expect(message?.agentCardUrl).toMatch(new RegExp(`^http://127.0.0.1:\\d+/api/v1/workspaces/${ada.id}/card$`))
    const path = `/inbox/${message?.activityId}`
    expect(await ask('POST', `${path}/reply`, asBob, { text: 'Three' })).toMatchObject({ status: 201 })
    expect((await ask('DELETE', path, asBob)).body).toMatchObject({ removed: false })
    for (const peer of [bob.id, 'bob']) {
      const activity = await ask('GET', `/activity?types=message.received&peer=${peer}`, asAda)
      expect(activity.body.activities).toMatchObject([{ text: 'Three', inReplyTo: sent.body.activityId, sequence: 2 }])
    }
    expect(await ask('GET', '/activity?peer=bobb', asAda)).toMatchObject({
      status: 404,
      body: { code: 'PEER_NOT_FOUND', detail: expect.stringContaining('Did you mean "bob"?') },
    })
    for (const path of ['/activity', '/events'])
      expect(await ask('GET', `${path}?since=0@${ada.id}&sinceSeconds=5`, asAda)).toMatchObject({
        status: 400,
        body: { code: 'INPUT_INVALID', detail: expect.stringContaining('Give one of them.') },
      })
    expect((await ask('GET', `/activity?since=0@${bob.id}`, asAda)).status).toBe(410)
    expect((await ask('POST', '/messages', asAda, { to: 'bob', text: ' ' })).status).toBe(400)
    expect((await ask('POST', '/messages', asAda, { to: 'nobody', text: 'x' })).body).toMatchObject({
      code: 'PEER_NOT_FOUND',
    })
  })

  it('says what other tokens have in hand, and tells whoever waits when that is free', async () => {
    const { ask, workspaces, organisation, messages, clock, say } = await open()
    const { ada, bob } = await workspaces('ada', 'bob')
    const [first, second] = [
      await organisation.tokens.create({ agent: 'bob' }),
      await organisation.tokens.create({ agent: 'bob' }),
    ]
    await say(ada, bob, 'for one')
    const had = await ask('GET', '/inbox?limit=1e308', first.token)
    expect(had.body).toMatchObject({ messages: [{ text: 'for one' }] })
    expect(had.body).not.toHaveProperty('heldByOthers')
    const heldByOthers = { messages: 1, until: clock.now() + 120_000 }
    expect((await ask('GET', '/inbox', second.token)).body).toEqual({ messages: [], nextCursor: null, heldByOthers })
    expect((await ask('DELETE', '/inbox/msg_none', second.token)).body).toMatchObject({ removed: false, heldByOthers })
    // It waits for as long as one request may, and hears of it meanwhile.
    const waiting = ask('GET', '/inbox?waitSeconds=1e308', second.token)
    await expect.poll(() => messages.watchers.count()).toBe(1)
    await messages.inbox.leave(readerOf(first.facts.id))
    expect((await waiting).body).toMatchObject({ messages: [{ text: 'for one' }] })
  })

  it('lets persons and the owner write and read, and nobody the log of another', async () => {
    const { ask, tokenOf, workspaces, organisation } = await open()
    const { ada, bob } = await workspaces('ada', 'bob')
    const { token: asPat } = await organisation.tokens.create({ person: 'pat' })
    const asBob = await tokenOf('bob')
    expect((await ask('POST', `/workspaces/${ada.id}/messages`, asPat, { text: 'Hello' })).status).toBe(201)
    expect((await ask('POST', `/workspaces/${ada.id}/messages`, ADMIN_TOKEN, { text: 'Hi' })).status).toBe(201)
    const log = await ask('GET', `/activity?workspaceId=${ada.id}`, asPat)
    expect(log.body.activities).toMatchObject([
      { kind: 'canvas_user', peerId: 'person:pat', text: 'Hello' },
      { kind: 'canvas_user', peerId: 'person:owner', text: 'Hi' },
    ])
    expect((await ask('GET', `/activity?workspaceId=${ada.id}`, asBob)).body).toMatchObject({ code: 'NAME_UNKNOWN' })
    expect((await ask('GET', `/activity?workspaceId=nobody`, asBob)).body).toMatchObject({ code: 'NAME_UNKNOWN' })
    expect((await ask('POST', `/workspaces/${bob.id}/messages`, asBob, { text: 'x' })).status).toBe(403)
    expect((await ask('GET', '/inbox', await tokenOf('bob', ['read']))).status).toBe(403)
    expect((await ask('GET', '/inbox', await tokenOf('bob', ['messages']))).status).toBe(200)
  })

  it('streams the log as events, and goes on where a reader left off', async () => {
    const { follow, tokenOf, workspaces, say } = await open()
    const { ada, bob } = await workspaces('ada', 'bob')
    const asBob = await tokenOf('bob')
    const first = await follow(asBob)
    expect(first.answer.headers.get('content-type')).toBe('text/event-stream')
    expect(await first.next()).toEqual({ retry: '1000' })
    await first.next()
    await say(ada, bob, 'one')
    const one = await first.nextEvent()
    expect(one).toMatchObject({ id: `1@${bob.id}`, event: 'message.received', data: { text: 'one' } })
    await first.leave()
    await say(bob, ada, 'two')
    await say(ada, bob, 'three')
    const again = await follow(asBob, { lastEventId: one?.id ?? '' })
    const rest = [await again.nextEvent(), await again.nextEvent()]
    expect(rest.map(frame => [frame?.event, frame?.data?.text])).toEqual([
      ['message.sent', 'two'],
      ['message.received', 'three'],
    ])
    expect((await follow(asBob, { lastEventId: `9@${bob.id}` })).answer.status).toBe(410)
  })

  it('ends a stream when its token is taken back or its workspace archived, and when everything ends', async () => {
    const { follow, tokenOf, workspaces, organisation, messages } = await open()
    const { bob } = await workspaces('ada', 'bob', 'cleo')
    const asAda = await organisation.tokens.create({ agent: 'ada' })
    const streams = [await follow(asAda.token), await follow(await tokenOf('bob')), await follow(await tokenOf('cleo'))]
    for (const { next } of streams) await next()
    await organisation.tokens.revoke(asAda.facts.id)
    expect(await streams[0]?.nextEvent()).toMatchObject({ event: 'end', data: { code: 'TOKEN_INVALID' } })
    expect(await streams[0]?.next()).toBeUndefined()
    await organisation.workspaces.archive('default', bob.id)
    expect(await streams[1]?.nextEvent()).toMatchObject({ event: 'end', data: { code: 'TOKEN_INVALID' } })
    messages.stop()
    expect(await streams[2]?.nextEvent()).toBeUndefined()
    expect(messages.watchers.count()).toBe(0)
  })

  it('shows that a stream lives, leaves nothing out for a slow reader, and nothing behind for one that has gone', async () => {
    const { clock, follow, tokenOf, workspaces, say, firstOver } = await open()
    const { ada, bob } = await workspaces('ada', 'bob')
    const asBob = await tokenOf('bob')
    const long = 'x'.repeat(1_000_000)
    for (let i = 0; i < MANY; i++) await say(ada, bob, `${i} ${long}`)
    const query = `?since=0@${bob.id}`
    const gone = await follow(asBob, { query })
    expect((await gone.nextEvent())?.id).toBe(`1@${bob.id}`)
    await gone.leave()
    await firstOver
    const slow = await follow(asBob, { query })
    const heard: string[] = []
    while (heard.length < MANY) heard.push((await slow.nextEvent())?.data?.text?.split(' ')[0] ?? '')
    expect(heard).toEqual(Array.from({ length: MANY }, (_, i) => String(i)))
    // Nothing more comes, and that is shown.
    const next = slow.next()
    await clock.advance(15_000)
    expect(await next).toEqual({})
  })

  it('cuts off a reader that does not read, which then goes on behind the last event that it had', async () => {
    const { server, follow, tokenOf, workspaces, say, firstOver } = await open({
      serverLimits: { stalledReaderMs: 50 },
    })
    const { ada, bob } = await workspaces('ada', 'bob')
    const asBob = await tokenOf('bob')
    for (let i = 0; i < MANY; i++) await say(ada, bob, 'x'.repeat(1_000_000))
    const deaf = deafReader(server.port, `/api/v1/events?since=0@${bob.id}`, asBob)
    await firstOver
    const had = [...(await deaf.listen()).matchAll(/^id: (\d+)@.*\nevent: .*\ndata: .*\n$/gm)]
    const last = Number(had.at(-1)?.[1])
    expect(last).toBeLessThan(MANY)
    expect(had.map(([, sequence]) => Number(sequence))).toEqual(Array.from({ length: last }, (_, i) => i + 1))
    const again = await follow(asBob, { lastEventId: `${last}@${bob.id}` })
    expect((await again.nextEvent())?.id).toBe(`${last + 1}@${bob.id}`)
  })

  it('tells a reader its place before anything has happened, so that it misses nothing when it comes back', async () => {
    const { follow, tokenOf, workspaces, say, clock } = await open()
    const { ada, bob } = await workspaces('ada', 'bob')
    const asBob = await tokenOf('bob')
    await say(ada, bob, 'before')
    await clock.advance(1)
    const first = await follow(asBob)
    await first.next()
    const place = await first.next()
    expect(place).toEqual({ id: `1@${bob.id}` })
    await first.leave()
    await say(ada, bob, 'meanwhile')
    const again = await follow(asBob, { lastEventId: place?.id ?? '' })
    expect(await again.nextEvent()).toMatchObject({ id: `2@${bob.id}`, data: { text: 'meanwhile' } })
  })

  it('refuses what no database keeps, wherever it stands', async () => {
    const { ask, tokenOf, workspaces } = await open({}, { store: await openDatabase() })
    const { ada } = await workspaces('ada', 'bob')
    const asAda = await tokenOf('ada')
    const of = async (...asked: Parameters<typeof ask>) => {
      const { status, body } = await ask(...asked)
      return [asked[1], status, body.code]
    }
    for (const path of ['/activity?peer=%00', '/activity?since=%00', '/events?since=%00', '/inbox?cursor=%00'])
      expect(await of('GET', path, asAda)).toEqual([path, 400, 'INPUT_INVALID'])
    for (const path of ['/activity?workspaceId=%00', '/activity?organisation=%00', '/events?workspaceId=%00'])
      expect(await of('GET', path, ADMIN_TOKEN)).toEqual([path, 400, 'INPUT_INVALID'])
    expect(await of('DELETE', '/inbox/a%00', asAda)).toEqual(['/inbox/a%00', 400, 'INPUT_INVALID'])
    for (const text of ['\0', '\ud800'])
      for (const body of [
        { to: 'bob', text },
        { to: text, text: 'x' },
        { to: 'bob', text: 'x', inReplyTo: text },
        { to: 'bob', text: 'x', idempotencyKey: text },
        { to: 'bob', parts: [{ kind: 'text', text }] },
      ])
        expect(await of('POST', '/messages', asAda, body)).toEqual(['/messages', 400, 'INPUT_INVALID'])
    const data = { nul: '\0', half: '\ud800' }
    expect((await ask('POST', '/messages', asAda, { to: 'bob', parts: [{ kind: 'data', data }] })).status).toBe(201)
    expect((await ask('POST', `/workspaces/${ada.id}/messages`, ADMIN_TOKEN, { text: '\0' })).status).toBe(400)
  })
})

/** A client that asks for a stream and reads nothing of it, until it is told to and everything is there. */
function deafReader(port: number, path: string, token: string) {
  const socket = connect(port, '127.0.0.1', () =>
    // In HTTP/1.0 nothing stands between the events.
    socket.write(`GET ${path} HTTP/1.0\r\nHost: localhost:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`),
  )
  onTestFinished(() => void socket.destroy())
  // The server may reset it.
  socket.on('error', () => {}).pause()
  return {
    async listen(): Promise<string> {
      const parts: Buffer[] = []
      socket.on('data', part => void parts.push(part)).resume()
      await once(socket, 'close')
      return Buffer.concat(parts).toString()
    },
  }
}
