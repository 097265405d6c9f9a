import { describe, expect, it } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import {
  bridge,
  type Desk,
  endpoint,
  legacy,
  notification,
  type ReceivedRequest,
  type TestEndpoint,
} from './testing/bridge-fixture.ts'

const INITIALIZE = legacy(0, 'initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'c' },
})
const CAPABILITIES = { tools: { listChanged: true }, resources: { listChanged: true, subscribe: true } }

/** A server with sessions; whatever it does not know itself is left to the test. */
async function sessions(name: string, handle: (incoming: ReceivedRequest) => void = incoming => incoming.answer({})) {
  const stream = deferred<(message: Record<string, unknown>) => void>()
  const opened: TestEndpoint = await endpoint(incoming => {
    const { http, body, headers } = incoming
    if (http === 'DELETE') return incoming.json(200)
    if (body.method === 'initialize') {
      const result = { protocolVersion: '2025-11-25', capabilities: CAPABILITIES, serverInfo: { name } }
      return incoming.json(200, { jsonrpc: '2.0', id: body.id, result }, { 'mcp-session-id': name })
    }
    if (headers['mcp-session-id'] !== name)
      return incoming.json(404, { jsonrpc: '2.0', id: null, error: { code: -32_001, message: '' } })
    if (http === 'GET') return stream.resolve(incoming.stream())
    if (body.id === undefined || body.method === undefined) return incoming.json(202)
    return handle(incoming)
  })
  return { ...opened, stream: stream.promise }
}

/** What a client does before anything else. */
async function initialise(desk: Desk): Promise<void> {
  desk.send(INITIALIZE)
  expect(await desk.next()).toMatchObject({ id: 0, result: { protocolVersion: '2025-11-25' } })
  desk.send(notification('notifications/initialized'))
}

const methods = ({ received }: { received: readonly ReceivedRequest[] }) =>
  received.map(({ http, body }) => body.method ?? http)

describe('a bridge for a client with a session', () => {
  it('uses the server’s session, and forwards its notifications', async () => {
    const server = await sessions('one')
    const desk = bridge({ urls: [server.url] })
    await initialise(desk)
    const say = await server.stream
    say(notification('notifications/tools/list_changed'))
    expect(await desk.next()).toEqual(notification('notifications/tools/list_changed'))
    desk.send(legacy(1, 'tools/list'))
    expect(await desk.next()).toMatchObject({ id: 1 })
    const last = server.received.at(-1)
    expect(last?.headers).toMatchObject({ 'mcp-session-id': 'one', 'mcp-protocol-version': '2025-11-25' })
    expect(last?.headers).not.toHaveProperty('mcp-method')
  })

  it('ends the session and returns its token when the client disconnects', async () => {
    const server = await sessions('one')
    const desk = bridge({ urls: [server.url] })
    await initialise(desk)
    await server.stream
    desk.end()
    expect(await desk.done).toEqual({})
    expect(methods(server).at(-1)).toBe('DELETE')
    expect(desk.givenBack).toEqual(['token-1'])
  })

  it('forwards questions to the client, and each answer to its session', async () => {
    const answered = deferred<ReceivedRequest>()
    const server = await sessions('one', incoming => {
      const say = incoming.stream()
      say({ jsonrpc: '2.0', id: 0, method: 'elicitation/create', params: { message: 'Sure?' } })
      void answered.promise.then(() => say({ jsonrpc: '2.0', id: incoming.body.id, result: { content: [] } }))
    })
    const desk = bridge({ urls: [server.url] })
    await initialise(desk)
    desk.send(legacy(1, 'tools/call', { name: 'ask' }))
    const question = await desk.next()
    expect(question).toMatchObject({ method: 'elicitation/create', params: { message: 'Sure?' } })
    desk.send({ jsonrpc: '2.0', id: question.id, result: { action: 'accept' } })
    await expect
      .poll(() => server.received.at(-1)?.body)
      .toEqual({ jsonrpc: '2.0', id: 0, result: { action: 'accept' } })
    answered.resolve(server.received.at(-1) as ReceivedRequest)
    expect(await desk.next()).toMatchObject({ id: 1, result: { content: [] } })
  })

  it('refuses questions to a client that closed its input, and still delivers its answers', async () => {
    const asked = deferred<void>()
    const server = await sessions('one', incoming => {
      const say = incoming.stream()
      const ask = (id: number) => say({ jsonrpc: '2.0', id, method: 'elicitation/create', params: {} })
      ask(0)
      void asked.promise.then(() => (ask(1), say({ jsonrpc: '2.0', id: incoming.body.id, result: { content: [] } })))
    })
    const desk = bridge({ urls: [server.url] })
    await initialise(desk)
    desk.send(legacy(1, 'tools/call', { name: 'ask' }))
    await desk.next()
    desk.end()
    const refusals = () => server.received.flatMap(({ body }) => (body.error ? [body.id] : []))
    await expect.poll(refusals).toEqual([0])
    asked.resolve()
    expect([await desk.next(), await desk.next()]).toMatchObject([{ id: 'connect-2' }, { id: 1, result: {} }])
    expect(await desk.done).toEqual({})
  })

  it('forwards a cancellation, and drops the answer', async () => {
    const called = deferred<ReceivedRequest>()
    const server = await sessions('one', incoming =>
      incoming.body.id === 1 ? called.resolve(incoming) : incoming.answer({}),
    )
    const desk = bridge({ urls: [server.url] })
    await initialise(desk)
    desk.send(legacy(1, 'tools/call', { name: 'wait' }))
    const { closed } = await called.promise
    desk.send(notification('notifications/cancelled', { requestId: 1, reason: 'enough' }))
    await closed
    expect(server.received.some(({ body }) => body.method === 'notifications/cancelled')).toBe(true)
    desk.send(legacy(2, 'tools/list'))
    expect(await desk.next()).toMatchObject({ id: 2 })
    expect(desk.rest()).toEqual([])
  })

  it('restores the session after a restart, and announces that lists may have changed', async () => {
    const [first, second] = [await sessions('one'), await sessions('two')]
    const desk = bridge({ urls: [first.url, second.url] })
    await initialise(desk)
    await first.stream
    desk.send(legacy(1, 'resources/subscribe', { uri: 'file:///a' }))
    await desk.next()
    await first.close()
    expect([await desk.next(), await desk.next()]).toEqual([
      { jsonrpc: '2.0', method: 'notifications/tools/list_changed' },
      { jsonrpc: '2.0', method: 'notifications/resources/list_changed' },
    ])
    await second.stream
    expect(methods(second).toSorted()).toEqual(
      ['initialize', 'notifications/initialized', 'resources/subscribe', 'GET'].toSorted(),
    )
    expect(second.received[0]?.body.params).toEqual(INITIALIZE.params)
    desk.send(legacy(2, 'tools/list'))
    expect(await desk.next()).toMatchObject({ id: 2 })
  })

  it('opens a new session when the server does not know this one', async () => {
    let name = 'one'
    const { url, received } = await endpoint(incoming => {
      const { body, headers, http } = incoming
      if (http === 'GET') return incoming.json(405)
      const result = { protocolVersion: '2025-11-25', capabilities: {} }
      if (body.method === 'initialize')
        return incoming.json(200, { jsonrpc: '2.0', id: body.id, result }, { 'mcp-session-id': name })
      if (headers['mcp-session-id'] !== name) return incoming.json(404, {})
      return body.id === undefined ? incoming.json(202) : incoming.answer({})
    })
    const desk = bridge({ urls: [url] })
    await initialise(desk)
    desk.send(legacy(1, 'tools/call', { name: 'pay' }))
    await desk.next()
    name = 'two'
    desk.send(legacy(2, 'tools/call', { name: 'pay' }))
    expect(await desk.next()).toMatchObject({ id: 2, result: {} })
    expect(received.at(-1)?.headers['mcp-session-id']).toBe('two')
    expect(desk.told).toEqual([])
  })

  it('cancels the questions of a lost session, and keeps late answers from the next', async () => {
    const first = await sessions('one', incoming => {
      const say = incoming.stream()
      say({ jsonrpc: '2.0', id: 0, method: 'elicitation/create', params: {} })
    })
    const second = await sessions('two')
    const desk = bridge({ urls: [first.url, second.url] })
    await initialise(desk)
    await first.stream
    desk.send(legacy(1, 'tools/call', { name: 'ask' }))
    const { id } = await desk.next()
    await first.close()
    const after = [await desk.next(), await desk.next(), await desk.next(), await desk.next()]
    expect(after).toContainEqual({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: id, reason: 'Quartermaster was restarted.' },
    })
    expect(after).toContainEqual({ jsonrpc: '2.0', id: 1, result: {} })
    desk.send({ jsonrpc: '2.0', id, result: { action: 'accept' } })
    desk.send(legacy(2, 'tools/list'))
    await desk.next()
    expect(second.received.filter(({ body }) => 'result' in body)).toEqual([])
  })
})
