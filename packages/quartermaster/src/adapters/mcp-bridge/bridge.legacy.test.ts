import { describe, expect, it } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import {
  bridge,
  type Desk,
  endpoint,
  legacy,
  notification,
  type TestEndpoint,
  type Visit,
} from './testing/bridge-fixture.ts'

const INITIALIZE = legacy(0, 'initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'c' },
})
const CAPABILITIES = { tools: { listChanged: true }, resources: { listChanged: true, subscribe: true } }

/** A server with sessions; whatever it does not know itself is left to the test. */
async function sessions(name: string, handle: (visit: Visit) => void = visit => visit.answer({})) {
  const stream = deferred<(message: Record<string, unknown>) => void>()
  const opened: TestEndpoint = await endpoint(visit => {
    const { http, body, headers } = visit
    if (http === 'DELETE') return visit.json(200)
    if (body.method === 'initialize') {
      const result = { protocolVersion: '2025-11-25', capabilities: CAPABILITIES, serverInfo: { name } }
      return visit.json(200, { jsonrpc: '2.0', id: body.id, result }, { 'mcp-session-id': name })
    }
    if (headers['mcp-session-id'] !== name)
      return visit.json(404, { jsonrpc: '2.0', id: null, error: { code: -32_001, message: '' } })
    if (http === 'GET') return stream.resolve(visit.stream())
    if (body.id === undefined || body.method === undefined) return visit.json(202)
    return handle(visit)
  })
  return { ...opened, stream: stream.promise }
}

/** What a client does before anything else. */
async function initialise(desk: Desk): Promise<void> {
  desk.send(INITIALIZE)
  expect(await desk.next()).toMatchObject({ id: 0, result: { protocolVersion: '2025-11-25' } })
  desk.send(notification('notifications/initialized'))
}

const methods = ({ visits }: { visits: readonly Visit[] }) => visits.map(({ http, body }) => body.method ?? http)

describe('a bridge for a client with a session', () => {
  it('speaks in the session that the server gave, and hears what it says unasked', async () => {
    const server = await sessions('one')
    const desk = bridge({ urls: [server.url] })
    await initialise(desk)
    const say = await server.stream
    say(notification('notifications/tools/list_changed'))
    expect(await desk.next()).toEqual(notification('notifications/tools/list_changed'))
    desk.send(legacy(1, 'tools/list'))
    expect(await desk.next()).toMatchObject({ id: 1 })
    const last = server.visits.at(-1)
    expect(last?.headers).toMatchObject({ 'mcp-session-id': 'one', 'mcp-protocol-version': '2025-11-25' })
    expect(last?.headers).not.toHaveProperty('mcp-method')
  })

  it('ends the session and gives its token back when the client goes', async () => {
    const server = await sessions('one')
    const desk = bridge({ urls: [server.url] })
    await initialise(desk)
    await server.stream
    desk.end()
    expect(await desk.done).toEqual({})
    expect(methods(server).at(-1)).toBe('DELETE')
    expect(desk.givenBack).toEqual(['token-1'])
  })

  it('carries questions to the client and answers back to whoever asked', async () => {
    const answered = deferred<Visit>()
    const server = await sessions('one', visit => {
      const say = visit.stream()
      say({ jsonrpc: '2.0', id: 0, method: 'elicitation/create', params: { message: 'Sure?' } })
      void answered.promise.then(() => say({ jsonrpc: '2.0', id: visit.body.id, result: { content: [] } }))
    })
    const desk = bridge({ urls: [server.url] })
    await initialise(desk)
    desk.send(legacy(1, 'tools/call', { name: 'ask' }))
    const question = await desk.next()
    expect(question).toMatchObject({ method: 'elicitation/create', params: { message: 'Sure?' } })
    desk.send({ jsonrpc: '2.0', id: question.id, result: { action: 'accept' } })
    await expect.poll(() => server.visits.at(-1)?.body).toEqual({ jsonrpc: '2.0', id: 0, result: { action: 'accept' } })
    answered.resolve(server.visits.at(-1) as Visit)
    expect(await desk.next()).toMatchObject({ id: 1, result: { content: [] } })
  })

  it('says no to whatever a client is asked that says no more, and still brings it its answers', async () => {
    const asked = deferred<void>()
    const server = await sessions('one', visit => {
      const say = visit.stream()
      const ask = (id: number) => say({ jsonrpc: '2.0', id, method: 'elicitation/create', params: {} })
      ask(0)
      void asked.promise.then(() => (ask(1), say({ jsonrpc: '2.0', id: visit.body.id, result: { content: [] } })))
    })
    const desk = bridge({ urls: [server.url] })
    await initialise(desk)
    desk.send(legacy(1, 'tools/call', { name: 'ask' }))
    await desk.next()
    desk.end()
    const refusals = () => server.visits.flatMap(({ body }) => (body.error ? [body.id] : []))
    await expect.poll(refusals).toEqual([0])
    asked.resolve()
    expect([await desk.next(), await desk.next()]).toMatchObject([{ id: 'connect-2' }, { id: 1, result: {} }])
    expect(await desk.done).toEqual({})
  })

  it('passes on that a call is cancelled, and says no more about it', async () => {
    const called = deferred<Visit>()
    const server = await sessions('one', visit => (visit.body.id === 1 ? called.resolve(visit) : visit.answer({})))
    const desk = bridge({ urls: [server.url] })
    await initialise(desk)
    desk.send(legacy(1, 'tools/call', { name: 'wait' }))
    const { closed } = await called.promise
    desk.send(notification('notifications/cancelled', { requestId: 1, reason: 'enough' }))
    await closed
    expect(server.visits.some(({ body }) => body.method === 'notifications/cancelled')).toBe(true)
    desk.send(legacy(2, 'tools/list'))
    expect(await desk.next()).toMatchObject({ id: 2 })
    expect(desk.rest()).toEqual([])
  })

  it('opens another session when the server is another, as the client had it, and says that lists may have changed', async () => {
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
    expect(second.visits[0]?.body.params).toEqual(INITIALIZE.params)
    desk.send(legacy(2, 'tools/list'))
    expect(await desk.next()).toMatchObject({ id: 2 })
  })

  it('opens another session when the server has forgotten this one', async () => {
    let name = 'one'
    const { url, visits } = await endpoint(visit => {
      const { body, headers, http } = visit
      if (http === 'GET') return visit.json(405)
      const result = { protocolVersion: '2025-11-25', capabilities: {} }
      if (body.method === 'initialize')
        return visit.json(200, { jsonrpc: '2.0', id: body.id, result }, { 'mcp-session-id': name })
      if (headers['mcp-session-id'] !== name) return visit.json(404, {})
      return body.id === undefined ? visit.json(202) : visit.answer({})
    })
    const desk = bridge({ urls: [url] })
    await initialise(desk)
    desk.send(legacy(1, 'tools/call', { name: 'pay' }))
    await desk.next()
    name = 'two'
    desk.send(legacy(2, 'tools/call', { name: 'pay' }))
    expect(await desk.next()).toMatchObject({ id: 2, result: {} })
    expect(visits.at(-1)?.headers['mcp-session-id']).toBe('two')
    expect(desk.told).toEqual([])
  })

  it('calls back the questions of a session that is gone, and keeps late answers from the next', async () => {
    const first = await sessions('one', visit => {
      const say = visit.stream()
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
    expect(second.visits.filter(({ body }) => 'result' in body)).toEqual([])
  })
})
