import { describe, expect, it } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { ask, frontOf } from './testing/front.ts'
import { openRawSession } from './testing/raw-session.ts'

/** An agent whose calls change something once a test says so, and what it is told of their ends. */
async function open(directCalls: boolean) {
  const entered = deferred<void>()
  const gate = deferred<void>()
  const told: string[] = []
  const send = simpleTool('send', {
    mutates: true,
    async handler() {
      entered.resolve()
      await gate.promise
      return 'sent'
    },
  })
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', [send])] } },
    agents: { worker: { capabilities: { main: {} } } },
    settings: { directCalls },
    tellEnd: ({ state }) => void told.push(state),
  })
  hub.work()
  return { hub, front: frontOf(hub), told, entered: entered.promise, finish: gate.resolve }
}

const KEYED = { 'idempotency-key': 'k1' }

type Stage = Awaited<ReturnType<typeof open>>

/** One call of either era, whose client can go away. */
async function begin({ front, entered }: Stage, era: string, headers = {}): Promise<() => void> {
  const client = new AbortController()
  const call =
    era === 'modern'
      ? ask(front, 'worker', {
          method: 'tools/call',
          name: 'send',
          params: { name: 'send', arguments: {} },
          headers,
          signal: client.signal,
        })
      : (await openRawSession(front)).post(
          { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'send' } },
          headers,
          { signal: client.signal },
        )
  call.catch(() => {})
  await entered
  return () => client.abort()
}

describe.each([
  ['our own', true],
  ['the SDK’s', false],
])('a call that goes %s way', (_way, directCalls) => {
  it.each([
    // From 2026-07-28 on whoever goes away cancels; before, the call goes on.
    ['modern', 'unknown'],
    ['legacy', 'succeeded'],
  ])('has its agent told how it ended where its %s client went away: %s', async (era, state) => {
    const stage = await open(directCalls)
    const leave = await begin(stage, era)
    leave()
    stage.finish()
    await expect.poll(() => stage.hub.operations.running()).toEqual([])
    await stage.hub.clock.advance(2_000)
    expect(stage.told).toEqual([state])
  })

  it.each(['modern', 'legacy'])('runs on where it has a key, and the repeat gets its result (%s client)', async era => {
    const stage = await open(directCalls)
    const leave = await begin(stage, era, KEYED)
    leave()
    stage.finish()
    const repeat = { method: 'tools/call', name: 'send', params: { name: 'send', arguments: {} }, headers: KEYED }
    const { result } = await ask(stage.front, 'worker', repeat)
    expect(result).toMatchObject({ content: [{ text: 'sent' }] })
  })

  it('is cancelled by a notice that names its key', async () => {
    const stage = await open(directCalls)
    await begin(stage, 'modern', KEYED)
    const notice = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
    const headers = { ...KEYED, 'content-type': 'application/json', 'mcp-protocol-version': '2026-07-28' }
    const sent = { method: 'POST', body: JSON.stringify(notice) }
    const authorization = 'Bearer token-of-worker'
    const request = new Request('http://localhost/mcp', { ...sent, headers: { ...headers, authorization } })
    expect((await stage.front.handle(request)).status).toBe(202)
    await expect.poll(() => stage.hub.operations.running()).toEqual([])
    const { operations } = await stage.hub.operations.list({ organisation: 'default' })
    expect(operations).toMatchObject([{ tool: 'send', state: 'unknown' }])
  })

  it.each(['modern', 'legacy'])('has nobody told whose %s client got the answer', async era => {
    const stage = await open(directCalls)
    const leave = await begin(stage, era)
    stage.finish()
    await expect.poll(() => stage.hub.operations.running()).toEqual([])
    await stage.hub.clock.advance(2_000)
    leave()
    await stage.hub.clock.advance(60_000)
    expect(stage.told).toEqual([])
  })
})
