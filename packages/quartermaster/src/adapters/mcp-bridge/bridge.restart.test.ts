import { describe, expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createSystemClock } from '../system/index.ts'
import { bridge, endpoint, legacy, modern, notification, type Visit } from './testing/bridge-fixture.ts'

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'

describe('a bridge whose server goes away', () => {
  it('asks the next one what it may ask twice', async () => {
    const first = await endpoint(visit => visit.drop())
    const second = await endpoint(visit => visit.answer({ tools: [] }))
    const desk = bridge({ urls: [first.url, second.url] })
    desk.send(modern(1, 'tools/list'))
    expect(await desk.next()).toMatchObject({ id: 1, result: { tools: [] } })
    expect(desk.told).toEqual(['The connection is lost; looking for Quartermaster.', 'Connected again.'])
  })

  it.each([
    { era: 'modern', request: modern(1, 'tools/call', { name: 'pay' }) },
    { era: 'legacy', request: legacy(1, 'tools/call', { name: 'pay' }) },
  ])('sends a call again that may have happened, under one key ($era)', async ({ request }) => {
    const first = await endpoint(visit => visit.drop())
    const second = await endpoint(visit => visit.answer({ content: [] }))
    const desk = bridge({ urls: [first.url, second.url] })
    desk.send(request)
    expect(await desk.next()).toMatchObject({ id: 1, result: { content: [] } })
    desk.send({ ...request, id: 2 })
    await desk.next()
    const calls = [...first.visits, ...second.visits]
    expect(calls.map(({ headers }) => headers['idempotency-key'])).toEqual(['key-1', 'key-1', 'key-2'])
    expect(calls.map(({ body }) => body)).toEqual([request, request, { ...request, id: 2 }])
  })

  it('waits for the answer of a call whose cut-off run the server repeats', async () => {
    const waiting = { content: [], _meta: { 'quartermaster/waiting': { status: 'waiting', for: 'retry' } } }
    const first = await endpoint(visit => visit.drop())
    let asked = 0
    const second = await endpoint(visit => visit.answer(++asked < 3 ? waiting : { content: [] }))
    const desk = bridge({ urls: [first.url, second.url] })
    desk.send(modern(1, 'tools/call', { name: 'put' }))
    expect(await desk.next()).toEqual({ jsonrpc: '2.0', id: 1, result: { content: [] } })
    asked = 0
    desk.send(modern(2, 'tools/call', { name: 'put' }))
    expect(await desk.next()).toMatchObject({ id: 2, result: waiting })
  })

  it('leaves the key of the client as it is, and sends the call again under it', async () => {
    const first = await endpoint(visit => visit.drop())
    const second = await endpoint(visit => visit.answer({ content: [] }))
    const desk = bridge({ urls: [first.url, second.url] })
    desk.send(modern(1, 'tools/call', { name: 'pay', _meta: { 'quartermaster/idempotencyKey': 'mine' } }))
    expect(await desk.next()).toMatchObject({ id: 1, result: { content: [] } })
    const [visit] = second.visits
    expect([visit?.headers['idempotency-key'], second.visits.length]).toEqual([undefined, 1])
  })

  it('says that nobody is back, and what to run, when a call cannot be sent again', async () => {
    const first = await endpoint(visit => visit.drop())
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
    const first = await endpoint(visit => visit.drop())
    const second = await endpoint(visit => visit.answer({}))
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
    expect([first.visits.length, second.visits.length]).toEqual([1, 0])
  })

  it('sends a call again that only reads, as its listing says', async () => {
    const tools = [{ name: 'look', annotations: { readOnlyHint: true } }]
    const first = await endpoint(visit => (visit.body.method === 'tools/list' ? visit.answer({ tools }) : visit.drop()))
    const second = await endpoint(visit => visit.answer({ content: [] }))
    const desk = bridge({ urls: [first.url, second.url] })
    desk.send(modern(1, 'tools/list'))
    await desk.next()
    desk.send(modern(2, 'tools/call', { name: 'look' }))
    expect(await desk.next()).toEqual({ jsonrpc: '2.0', id: 2, result: { content: [] } })
  })

  it.each(['modern', 'legacy'] as const)('does so under a key once the tool has changed (%s)', async era => {
    const request = era === 'modern' ? modern : legacy
    let annotations = { readOnlyHint: true }
    const first = await endpoint(visit => {
      if (visit.body.method === 'tools/list') return visit.answer({ tools: [{ name: 'look', annotations }] })
      if (visit.body.method !== 'prompts/list') return visit.drop()
      const say = visit.stream()
      say(notification('notifications/tools/list_changed'))
      say({ jsonrpc: '2.0', id: visit.body.id, result: {} })
    })
    const second = await endpoint(visit => visit.answer({ content: [] }))
    const desk = bridge({ urls: [first.url, second.url] })
    desk.send(request(1, 'tools/list'))
    await desk.next()
    desk.send(request(2, 'prompts/list'))
    expect(await desk.next()).toMatchObject({ method: 'notifications/tools/list_changed' })
    await desk.next()
    annotations = { readOnlyHint: false }
    desk.send(request(3, 'tools/call', { name: 'look' }))
    expect(await desk.next()).toMatchObject({ id: 3, result: { content: [] } })
    expect(second.visits.map(({ headers }) => headers['idempotency-key'])).toEqual(['key-1'])
  })

  it('leaves a call alone that runs over another connection, until it is answered', async () => {
    const running = deferred<Visit>()
    const first = await endpoint(visit => (visit.body.method === 'tools/call' ? running.resolve(visit) : visit.drop()))
    const second = await endpoint(visit => visit.answer({ tools: [] }))
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

  it('sends a call that nobody took to the next one', async () => {
    const gone = await endpoint(() => {})
    await gone.close()
    const next = await endpoint(visit => visit.answer({ content: [] }))
    const desk = bridge({ urls: [gone.url, next.url] })
    desk.send(modern(1, 'tools/call', { name: 'pay' }))
    expect(await desk.next()).toMatchObject({ id: 1, result: { content: [] } })
  })

  it('borrows another token when the one it has is not taken', async () => {
    const { url, visits } = await endpoint(visit =>
      visit.headers.authorization === 'Bearer token-1' ? visit.json(401, {}) : visit.answer({}),
    )
    const desk = bridge({ urls: [url] })
    desk.send(modern(1, 'tools/call', { name: 'pay' }))
    expect(await desk.next()).toMatchObject({ id: 1, result: {} })
    expect(visits.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2'])
  })

  it('passes on that nobody knows what became of a call whose token was taken back, and sends it no second time', async () => {
    const data = { code: 'OUTCOME_UNKNOWN' }
    const { url, visits } = await endpoint(visit =>
      visit.json(403, { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'It may have happened.', data } }),
    )
    const desk = bridge({ urls: [url] })
    desk.send(modern(1, 'tools/call', { name: 'pay' }))
    expect(await desk.next()).toMatchObject({ id: 1, error: { data } })
    expect(visits).toHaveLength(1)
  })

  it('gives up on one that never lets it in, and says what to do', async () => {
    const { url } = await endpoint(visit => visit.json(401, {}))
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

  it('asks another when one says that it is stopping, also with a call that changes something', async () => {
    const stopping = { code: 'STOPPING', message: 'Quartermaster is stopping.' }
    const result = { content: [], isError: true, _meta: { 'quartermaster/error': stopping } }
    const first = await endpoint(visit => visit.answer(result))
    const second = await endpoint(visit => visit.answer({ content: [] }))
    const desk = bridge({ urls: [first.url, second.url] })
    desk.send(modern(1, 'tools/call', { name: 'pay' }))
    expect(await desk.next()).toEqual({ jsonrpc: '2.0', id: 1, result: { content: [] } })
  })

  it('keeps one subscription over it: acknowledged once, and told what may have changed', async () => {
    const notifications = { toolsListChanged: true, resourceSubscriptions: ['file:///a'] }
    const acknowledged = (visit: Visit) => {
      const say = visit.stream()
      const _meta = { [SUBSCRIPTION]: visit.body.id }
      say(notification('notifications/subscriptions/acknowledged', { notifications, _meta }))
      return say
    }
    const opened = deferred<Visit>()
    const first = await endpoint(visit => {
      acknowledged(visit)
      opened.resolve(visit)
    })
    const second = await endpoint(visit => {
      const say = acknowledged(visit)
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
    await second.visits[0]?.closed
    expect(desk.rest()).toEqual([])
  })

  it('passes on the end of a subscription to nothing', async () => {
    const { url } = await endpoint(visit => {
      const say = visit.stream()
      say(notification('notifications/subscriptions/acknowledged', { notifications: {} }))
      say({ jsonrpc: '2.0', id: visit.body.id, result: { resultType: 'complete' } })
      visit.response.end()
    })
    const desk = bridge({ urls: [url] })
    desk.send(modern('l', 'subscriptions/listen', { notifications: {} }))
    expect(await desk.next()).toMatchObject({ method: 'notifications/subscriptions/acknowledged' })
    expect(await desk.next()).toMatchObject({ id: 'l', result: { resultType: 'complete' } })
  })
})
