import { describe, expect, it } from 'vitest'
import type { Message } from '../../mcp-wire/index.ts'
import { type HttpEndpoint, httpEndpoint, type Visit } from '../testing/http-endpoint.ts'
import { call, httpFixture, INITIALIZE, modernCall, PING } from '../testing/http-fixture.ts'

const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
const DISCOVER: Message = { jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta } }
const MODERN_LIST: Message = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: { _meta } }
const LIST: Message = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} }
const LEFT = {
  kind: 'sessionLost',
  reason: 'The server does not take the revision of MCP any more in which it was met.',
}

type Complaint = (visit: Visit) => void

const said =
  (status: number, message: string, { code = -32_000, isNamed = false } = {}): Complaint =>
  ({ body, json }) =>
    json(status, { jsonrpc: '2.0', id: isNamed ? body.id : null, error: { code, message } })

const text =
  (status: number, words: string): Complaint =>
  ({ response }) =>
    void response.writeHead(status, { 'content-type': 'text/plain' }).end(words)

const WRONG_VERSION = said(400, 'Unsupported protocol version', { code: -32_022, isNamed: true })

const methods = ({ visits }: HttpEndpoint) => visits.map(({ body }) => body.method)

/** A channel to a server that was met and has listed what it has, and that answers from then on as it is told to. */
async function met(first: readonly Message[], headers: Record<string, string> = {}) {
  let later: (visit: Visit) => unknown = ({ result }) => result({}, headers)
  const server = await httpEndpoint(visit => later(visit))
  const desk = await httpFixture(server.url)
  for (const message of first) await desk.channel.send(message)
  server.visits.length = 0
  return { ...desk, server, become: (next: typeof later) => void (later = next) }
}

/** What it is asked, to know. */
const lookAfter = (first: readonly Message[]) =>
  first === MODERN ? 'server/discover' : first === LEGACY ? 'tools/list' : 'ping'

const MODERN = [DISCOVER, MODERN_LIST]
const LEGACY = [INITIALIZE, LIST]
const SESSION = { 'mcp-session-id': 's' }

describe('a server by HTTP that was met', () => {
  it.each<[string, readonly Message[], Record<string, string>, Complaint]>([
    ['2026-07-28', MODERN, {}, said(400, 'Bad Request: No valid session ID provided')],
    ['2026-07-28', MODERN, {}, said(400, 'Bad Request: Mcp-Session-Id header is required')],
    ['2026-07-28', MODERN, {}, said(400, 'Bad Request: Missing session ID', { isNamed: true })],
    ['2026-07-28', MODERN, {}, said(400, 'Bad Request: Server not initialized')],
    ['2026-07-28', MODERN, {}, said(400, 'Bad Request: Unsupported protocol version: 2026-07-28 (supported: …)')],
    ['2026-07-28', MODERN, {}, said(400, 'session required')],
    ['2026-07-28', MODERN, {}, text(400, 'Bad Request: unsupported MCP-Protocol-Version\n')],
    ['2026-07-28', MODERN, {}, text(404, 'session not found\n')],
    ['2026-07-28', MODERN, {}, text(422, 'Unexpected message, expect initialize request')],
    ['2026-07-28', MODERN, {}, said(400, 'Mcp-Session-Id header required for POST requests.', { isNamed: true })],
    ['2026-07-28', MODERN, {}, said(400, "The MCP-Protocol-Version header value '2026-07-28' is not supported.")],
    ['2026-07-28', MODERN, {}, said(400, 'A new session can only be created by an initialize request.')],
    ['2026-07-28', MODERN, {}, said(400, 'In words that nobody knows')],
    ['2025-11-25', LEGACY, SESSION, WRONG_VERSION],
    ['2025-11-25, without a session,', LEGACY, {}, WRONG_VERSION],
    ['2025-11-25, without a session,', LEGACY, {}, said(400, 'Bad Request: Mcp-Session-Id header is required')],
    ['2025-11-25', LEGACY, SESSION, said(400, 'The Mcp-Session-Id header is not supported in stateless mode')],
    ['2025-11-25, and has listed nothing,', [INITIALIZE], SESSION, WRONG_VERSION],
  ])(
    'in %s and takes nothing in that any more is left, and has not done the call',
    async (_in, first, own, complain) => {
      const { channel, ended, server, become } = await met(first, own)
      become(complain)
      const status = expect.any(Number) as number
      const sent = first === MODERN ? modernCall(3) : call(3)
      await expect(channel.send(sent)).rejects.toMatchObject({ wasSent: 'no', status, message: LEFT.reason })
      expect(await ended).toEqual(LEFT)
      expect(methods(server)).toEqual(['tools/call', lookAfter(first)])
    },
  )

  it('is left as well where it refuses a call with a page of its own, and may have done it', async () => {
    const { channel, ended, become } = await met(MODERN)
    become(text(400, 'In words that nobody knows'))
    await expect(channel.send(modernCall(3))).rejects.toMatchObject({ wasSent: 'refused', status: 400 })
    expect(await ended).toEqual(LEFT)
  })

  it('is left by server/discover that it refuses in words that nobody knows', async () => {
    const { channel, ended, become } = await met(MODERN)
    become(said(400, 'In words that nobody knows', { isNamed: true }))
    await expect(channel.send({ ...DISCOVER, id: 3 } as Message)).rejects.toMatchObject({ wasSent: 'no', status: 400 })
    expect(await ended).toEqual(LEFT)
  })

  it('is asked once for all calls that it refuses at the same time', async () => {
    const { channel, server, become } = await met(MODERN)
    become(WRONG_VERSION)
    const calls = await Promise.allSettled([3, 4, 5].map(id => channel.send(modernCall(id))))
    for (const one of calls) expect(one).toMatchObject({ reason: { wasSent: 'no', status: 400 } })
    expect(methods(server).filter(method => method === 'server/discover')).toHaveLength(1)
  })

  it.each<[string, readonly Message[], Message]>([
    ['server/discover', MODERN, { ...DISCOVER, id: 3 } as Message],
    ['tools/list', MODERN, { ...MODERN_LIST, id: 3 } as Message],
    ['ping', LEGACY, PING],
    ['tools/list', LEGACY, { ...LIST, id: 3 } as Message],
  ])('is left by %s that it does not take any more', async (_method, first, message) => {
    const { channel, ended, become } = await met(first, SESSION)
    become(WRONG_VERSION)
    await expect(channel.send(message)).rejects.toMatchObject({ wasSent: 'no', status: 400 })
    expect(await ended).toEqual(LEFT)
  })

  it.each<[string, readonly Message[], Complaint | number]>([
    ['answers what it was met with', MODERN, ({ result }) => result({})],
    ['answers what it has listed', LEGACY, ({ result }) => result({})],
    ['is out of order when it is asked', MODERN, 503],
    ['is busy when it is asked', LEGACY, 429],
  ])('gives its own words for a call where it %s', async (_what, first, look) => {
    const { channel, messages, server, become } = await met(first, SESSION)
    become(visit => {
      if (visit.body.method === 'tools/call') WRONG_VERSION(visit)
      else if (typeof look === 'function') look(visit)
      else visit.json(look)
    })
    await channel.send(call(3))
    expect(messages.at(-1)).toMatchObject({ id: 3, error: { code: -32_022 } })
    expect(server.visits).toHaveLength(2)
    become(({ result }) => result({}))
    await channel.send(call(4))
    expect(messages.at(-1)).toMatchObject({ id: 4, result: {} })
  })

  it('has refused a listing, and said nothing of what it has, where it answers what it was met with', async () => {
    const { channel, become } = await met([DISCOVER])
    become(visit => (visit.body.method === 'tools/list' ? WRONG_VERSION(visit) : visit.result({})))
    await expect(channel.send(MODERN_LIST)).rejects.toMatchObject({ wasSent: 'refused', status: 400 })
    await channel.send(modernCall(3))
  })

  it('has refused a call of which it says so in plain text, where it answers what it was met with', async () => {
    const { channel, become } = await met(MODERN)
    become(visit =>
      visit.body.method === 'tools/call' ? text(400, 'Server not initialized')(visit) : visit.result({}),
    )
    await expect(channel.send(modernCall(3))).rejects.toMatchObject({ wasSent: 'refused', status: 400 })
    await channel.send(MODERN_LIST)
  })

  it.each([
    said(400, 'Invalid arguments: "protocol" is missing', { code: -32_602, isNamed: true }),
    said(400, 'The argument "session" is unknown', { isNamed: true }),
    said(400, 'The header and the body disagree', { code: -32_020, isNamed: true }),
  ])('is asked nothing else where it is the call that it finds wrong', async complain => {
    const { channel, server, become } = await met(MODERN)
    become(complain)
    await channel.send(modernCall(3))
    expect(methods(server)).toEqual(['tools/call'])
  })
})

it('that is being met is spoken to in the other era on the same channel', async () => {
  const server = await httpEndpoint(visit =>
    visit.body.method === 'initialize' ? visit.result({}) : said(400, 'Server not initialized')(visit),
  )
  const { channel, messages } = await httpFixture(server.url)
  await channel.send(DISCOVER)
  await channel.send(INITIALIZE)
  expect(messages).toMatchObject([
    { id: 1, error: {} },
    { id: 'first', result: {} },
  ])
  expect(methods(server)).toEqual(['server/discover', 'initialize'])
})

it('that refuses to be met in either era is told of as it says', async () => {
  const server = await httpEndpoint(WRONG_VERSION)
  const { channel, messages } = await httpFixture(server.url)
  await channel.send(DISCOVER)
  await channel.send(INITIALIZE)
  expect(messages).toMatchObject([{ error: { code: -32_022 } }, { error: { code: -32_022 } }])
  expect(methods(server)).toEqual(['server/discover', 'initialize'])
})
