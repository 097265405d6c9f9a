import { describe, expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createSystemClock } from '../system/index.ts'
import { bridge, endpoint, legacy, modern, notification, type ReceivedRequest } from './testing/bridge-fixture.ts'

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'

describe('a bridge whose server goes away', () => {
  it('repeats repeatable requests after a restart', async () => {
    const first = await endpoint(incoming => incoming.drop())
    const second = await endpoint(incoming => incoming.answer({ tools: [] }))
    const desk = bridge({ urls: [first.url, second.url] })
    desk.send(modern(1, 'tools/list'))
    expect(await desk.next()).toMatchObject({ id: 1, result: { tools: [] } })
    expect(desk.told).toEqual(['The connection is lost; looking for Quartermaster.', 'Connected again.'])
  })

  it.each([
    { era: 'modern', request: modern(1, 'tools/call', { name: 'pay' }) },
    { era: 'legacy', request: legacy(1, 'tools/call', { name: 'pay' }) },
  ])('sends a call again that may have happened, under one key ($era)', async ({ request }) => {
    const first = await endpoint(incoming => incoming.drop())
    const second = await endpoint(incoming => incoming.answer({ content: [] }))
    const desk = bridge({ urls: [first.url, second.url] })
    desk.send(request)
    expect(await desk.next()).toMatchObject({ id: 1, result: { content: [] } })
    desk.send({ ...request, id: 2 })
    await desk.next()
    const calls = [...first.received, ...second.received]
    expect(calls.map(({ headers }) => headers['idempotency-key'])).toEqual(['key-1', 'key-1', 'key-2'])
    expect(calls.map(({ body }) => body)).toEqual([request, request, { ...request, id: 2 }])
  })

  it('waits for the answer of a call whose cut-off run the server repeats', async () => {
    const waiting = { content: [], _meta: { 'quartermaster/waiting': { status: 'waiting', for: 'retry' } } }
    const first = await endpoint(incoming => incoming.drop())
    let asked = 0
    const second = await endpoint(incoming => incoming.answer(++asked < 3 ? waiting : { content: [] }))
    const desk = bridge({ urls: [first.url, second.url] })
    desk.send(modern(1, 'tools/call', { name: 'put' }))
    expect(await desk.next()).toEqual({ jsonrpc: '2.0', id: 1, result: { content: [] } })
    asked = 0
    desk.send(modern(2, 'tools/call', { name: 'put' }))
    expect(await desk.next()).toMatchObject({ id: 2, result: waiting })
  })

  it('repeats a call under the client’s own idempotency key', async () => {
    const first = await endpoint(incoming => incoming.drop())
    const second = await endpoint(incoming => incoming.answer({ content: [] }))
    const desk = bridge({ urls: [first.url, second.url] })
    desk.send(modern(1, 'tools/call', { name: 'pay', _meta: { 'quartermaster/idempotencyKey': 'mine' } }))
    expect(await desk.next()).toMatchObject({ id: 1, result: { content: [] } })
    const [incoming] = second.received
    expect([incoming?.headers['idempotency-key'], second.received.length]).toEqual([undefined, 1])
  })

  it('reports that no server came back, and what to run, when a call cannot be repeated', async () => {
    const first = await endpoint(incoming => incoming.drop())
    const clock = createFakeClock()
    let found = 0
    const find = async () => {
      if (found++ > 0) throw new AppError('DEPENDENCY_UNAVAILABLE', 'It is not there.')
      return { url: first.url, token: 't', goodForMs: 600_000, extend: async () => {}, giveBack: async () => {} }
    }
    const desk = bridge({ find, clock, command: 'quartermaster up --config here.json' })
    desk.send(modern(1, 'tools/call', { name: 'pay' }))
    await expect.poll(() => found).toBeGreaterThan(1)
    await clock.advance(60_000)
    expect(await desk.next()).toMatchObject({
      result: { _meta: { 'quartermaster/error': { code: 'OUTCOME_UNKNOWN' } } },
    })
    const before = found
    desk.send(modern(2, 'tools/call', { name: 'pay' }))
    await expect.poll(() => found).toBeGreaterThan(before)
    await clock.advance(60_000)
    const text = 'Quartermaster was not reached within 55 seconds. Start it: quartermaster up --config here.json'
    expect(JSON.stringify(await desk.next())).toContain(text)
  })

  it.each([
    { era: 'modern', request: modern, more: { resultType: 'complete' } },
    { era: 'legacy', request: legacy, more: {} },
  ])('never sends an answer to a question of a tool twice ($era)', async ({ request: as, more }) => {
    const first = await endpoint(incoming => incoming.drop())
    const second = await endpoint(incoming => incoming.answer({}))
    const desk = bridge({ urls: [first.url, second.url] })
    desk.send(as(1, 'tools/call', { name: 'pay', requestState: 's', inputResponses: {} }))
    const answer = await desk.next()
    expect(answer).toMatchObject({
      id: 1,
      result: {
        isError: true,
        _meta: { 'quartermaster/error': { code: 'OUTCOME_UNKNOWN', retry: 'verifyFirst' } },
        ...more,
      },
    })
    expect(JSON.stringify(answer)).toContain('OUTCOME_UNKNOWN: The connection to Quartermaster was lost')
    expect([first.received.length, second.received.length]).toEqual([1, 0])
  })

  it('repeats a call that only reads, according to its listing', async () => {
    const tools = [{ name: 'look', annotations: { readOnlyHint: true } }]
    const first = await endpoint(incoming =>
      incoming.body.method === 'tools/list' ? incoming.answer({ tools }) : incoming.drop(),
    )
    const second = await endpoint(incoming => incoming.answer({ content: [] }))
    const desk = bridge({ urls: [first.url, second.url] })
    desk.send(modern(1, 'tools/list'))
    await desk.next()
    desk.send(modern(2, 'tools/call', { name: 'look' }))
    expect(await desk.next()).toEqual({ jsonrpc: '2.0', id: 2, result: { content: [] } })
  })

  it.each(['modern', 'legacy'] as const)('does so under a key once the tool has changed (%s)', async era => {
    const request = era === 'modern' ? modern : legacy
    let annotations = { readOnlyHint: true }
    const first = await endpoint(incoming => {
      if (incoming.body.method === 'tools/list') return incoming.answer({ tools: [{ name: 'look', annotations }] })
      if (incoming.body.method !== 'prompts/list') return incoming.drop()
      const say = incoming.stream()
      say(notification('notifications/tools/list_changed'))
      say({ jsonrpc: '2.0', id: incoming.body.id, result: {} })
    })
    const second = await endpoint(incoming => incoming.answer({ content: [] }))
    const desk = bridge({ urls: [first.url, second.url] })
    desk.send(request(1, 'tools/list'))
    await desk.next()
    desk.send(request(2, 'prompts/list'))
    expect(await desk.next()).toMatchObject({ method: 'notifications/tools/list_changed' })
    await desk.next()
    annotations = { readOnlyHint: false }
    desk.send(request(3, 'tools/call', { name: 'look' }))
    expect(await desk.next()).toMatchObject({ id: 3, result: { content: [] } })
    expect(second.received.map(({ headers }) => headers['idempotency-key'])).toEqual(['key-1'])
  })

  it('leaves calls on other connections running until they are answered', async () => {
    const running = deferred<ReceivedRequest>()
    const first = await endpoint(incoming =>
      incoming.body.method === 'tools/call' ? running.resolve(incoming) : incoming.drop(),
    )
    const second = await endpoint(incoming => incoming.answer({ tools: [] }))
    const desk = bridge({ urls: [first.url, second.url] })
    desk.send(modern(1, 'tools/call', { name: 'pay' }))
    const call = await running.promise
    desk.send(modern(2, 'tools/list'))
    expect(await desk.next()).toMatchObject({ id: 2 })
    expect(desk.givenBack).toEqual([])
    call.answer({ content: [] })
    expect(await desk.next()).toMatchObject({ id: 1, result: { content: [] } })
    await expect.poll(() => desk.givenBack).toEqual(['token-1'])
  })

  it('sends a call that was not accepted to the next server', async () => {
    const gone = await endpoint(() => {})
    await gone.close()
    const next = await endpoint(incoming => incoming.answer({ content: [] }))
    const desk = bridge({ urls: [gone.url, next.url] })
    desk.send(modern(1, 'tools/call', { name: 'pay' }))
    expect(await desk.next()).toMatchObject({ id: 1, result: { content: [] } })
  })

  it('gets a new token when its token is refused', async () => {
    const { url, received } = await endpoint(incoming =>
      incoming.headers.authorization === 'Bearer token-1' ? incoming.json(401, {}) : incoming.answer({}),
    )
    const desk = bridge({ urls: [url] })
    desk.send(modern(1, 'tools/call', { name: 'pay' }))
    expect(await desk.next()).toMatchObject({ id: 1, result: {} })
    expect(received.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2'])
  })

  it('reports an unknown outcome for a call whose token was revoked, and does not repeat it', async () => {
    const data = { code: 'OUTCOME_UNKNOWN' }
    const { url, received } = await endpoint(incoming =>
      incoming.json(403, {
        jsonrpc: '2.0',
        id: null,
        error: { code: -32_000, message: 'It may have happened.', data },
      }),
    )
    const desk = bridge({ urls: [url] })
    desk.send(modern(1, 'tools/call', { name: 'pay' }))
    expect(await desk.next()).toMatchObject({ id: 1, error: { data } })
    expect(received).toHaveLength(1)
  })

  it('gives up on a server that always refuses it, and says what to do', async () => {
    const { url } = await endpoint(incoming => incoming.json(401, {}))
    const real = createSystemClock()
    // No pause between the tries.
    const clock = { ...real, after: (ms: number, run: () => void) => real.after(ms > 5_000 ? ms : 0, run) }
    const desk = bridge({ urls: [url], clock })
    desk.send(modern(1, 'tools/list'))
    expect(await desk.next()).toMatchObject({
      id: 1,
      error: { message: expect.stringContaining('quartermaster doctor'), data: { code: 'DEPENDENCY_UNAVAILABLE' } },
    })
  })

  it('sends requests of a stopping server to the next one, also calls that change something', async () => {
    const stopping = { code: 'STOPPING', message: 'Quartermaster is stopping.' }
    const result = { content: [], isError: true, _meta: { 'quartermaster/error': stopping } }
    const first = await endpoint(incoming => incoming.answer(result))
    const second = await endpoint(incoming => incoming.answer({ content: [] }))
    const desk = bridge({ urls: [first.url, second.url] })
    desk.send(modern(1, 'tools/call', { name: 'pay' }))
    expect(await desk.next()).toEqual({ jsonrpc: '2.0', id: 1, result: { content: [] } })
  })

  it('keeps a subscription over a restart: acknowledged once, then notified of possible changes', async () => {
    const notifications = { toolsListChanged: true, resourceSubscriptions: ['file:///a'] }
    const acknowledged = (incoming: ReceivedRequest) => {
      const say = incoming.stream()
      const _meta = { [SUBSCRIPTION]: incoming.body.id }
      say(notification('notifications/subscriptions/acknowledged', { notifications, _meta }))
      return say
    }
    const opened = deferred<ReceivedRequest>()
    const first = await endpoint(incoming => {
      acknowledged(incoming)
      opened.resolve(incoming)
    })
    const second = await endpoint(incoming => {
      const say = acknowledged(incoming)
      say(notification('notifications/tools/list_changed', { n: 2 }))
    })
    const desk = bridge({ urls: [first.url, second.url] })
    desk.send(modern('listen:1', 'subscriptions/listen', { notifications }))
    expect(await desk.next()).toMatchObject({ method: 'notifications/subscriptions/acknowledged' })
    // As a server does that stops: it ends the subscription politely, and takes no more connections.
    const { response, body } = await opened.promise
    response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: body.id, result: { resultType: 'complete' } })}\n\n`)
    await first.close()
    const _meta = { [SUBSCRIPTION]: 'listen:1' }
    expect([await desk.next(), await desk.next(), await desk.next()]).toEqual([
      notification('notifications/tools/list_changed', { _meta }),
      notification('notifications/resources/updated', { uri: 'file:///a', _meta }),
      notification('notifications/tools/list_changed', { n: 2 }),
    ])
    desk.send(notification('notifications/cancelled', { requestId: 'listen:1' }))
    await second.received[0]?.closed
    expect(desk.rest()).toEqual([])
  })

  it('forwards the end of a subscription to nothing', async () => {
    const { url } = await endpoint(incoming => {
      const say = incoming.stream()
      say(notification('notifications/subscriptions/acknowledged', { notifications: {} }))
      say({ jsonrpc: '2.0', id: incoming.body.id, result: { resultType: 'complete' } })
      incoming.response.end()
    })
    const desk = bridge({ urls: [url] })
    desk.send(modern('l', 'subscriptions/listen', { notifications: {} }))
    expect(await desk.next()).toMatchObject({ method: 'notifications/subscriptions/acknowledged' })
    expect(await desk.next()).toMatchObject({ id: 'l', result: { resultType: 'complete' } })
  })
})
