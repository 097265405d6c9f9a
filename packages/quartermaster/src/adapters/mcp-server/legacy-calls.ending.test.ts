import { describe, expect, it } from 'vitest'
import { deferred } from '../../testing/deferred.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { frontOf } from './testing/front.ts'
import { openRawSession } from './testing/raw-session.ts'

const HOUR_MS = 3_600_000
/** Longer than a session may be unused. */
const LONG_MS = 50 * 60_000

/** A session in which a tool runs until it is told to end, or its call is cancelled. */
async function open(directCalls = true) {
  const entered = deferred<AbortSignal>()
  const finished = deferred<void>()
  const waits = simpleTool('waits', {
    timeoutMs: HOUR_MS,
    async handler(_input: never, { signal }) {
      entered.resolve(signal)
      await Promise.race([finished.promise, new Promise(resolve => signal.addEventListener('abort', resolve))])
      return 'done'
    },
  })
  const asks = simpleTool('asks', {
    async handler(_input: never, { signal, ask }) {
      entered.resolve(signal)
      return (await ask({ message: 'Sure?' })).action
    },
  })
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', [waits, asks, simpleTool('plain')])] } },
    agents: { worker: { capabilities: { main: {} } } },
    settings: { directCalls },
  })
  const front = frontOf(hub)
  const session = await openRawSession(front, { capabilities: { elicitation: { form: {} } } })
  const start = (name: string, init: RequestInit = {}) =>
    session.post({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name } }, {}, init)
  return { hub, front, session, start, entered: entered.promise, finish: finished.resolve }
}

type Stage = Awaited<ReturnType<typeof open>>

const ENDINGS: Record<string, (stage: Stage) => Promise<unknown>> = {
  'is cancelled': ({ session }) => session.cancel(7),
  'loses its session': ({ session }) => session.end(),
  'loses its token': ({ front }) => front.revoke('worker'),
  'loses its agent': async ({ hub, front }) => {
    await hub.setAgents({})
    await front.endExcept(({ name }) => hub.agents.has(name))
  },
  'is on a server that stops': ({ front }) => front.close(),
}

describe.each([
  ['our own', true],
  ['the SDK’s', false],
])('a call in a session that goes %s way', (_way, directCalls) => {
  it.each(Object.entries(ENDINGS))('ends when it %s', async (_what, end) => {
    const stage = await open(directCalls)
    const answer = stage.start('waits')
    const signal = await stage.entered
    await end(stage)
    await expect.poll(() => signal.aborted).toBe(true)
    await expect.poll(() => stage.hub.operations.running()).toEqual([])
    await (await answer).body?.cancel()
  })

  it.each(Object.entries(ENDINGS))('ends when it %s while its person is asked', async (_what, end) => {
    const stage = await open(directCalls)
    const answer = await stage.start('asks')
    const signal = await stage.entered
    await end(stage)
    await expect.poll(() => signal.aborted).toBe(true)
    await expect.poll(() => stage.hub.operations.running()).toEqual([])
    await answer.body?.cancel()
  })

  it('goes on when its client goes away', async () => {
    const { hub, start, entered, finish } = await open(directCalls)
    const client = new AbortController()
    const answer = start('waits', { signal: client.signal })
    const signal = await entered
    client.abort()
    expect([signal.aborted, hub.operations.running().length]).toEqual([false, 1])
    finish()
    await (await answer).body?.cancel()
    await expect.poll(() => hub.operations.running()).toEqual([])
    expect(signal.aborted).toBe(false)
  })

  it('keeps its session in use', async () => {
    const { hub, front, start, entered, finish } = await open(directCalls)
    const answer = start('waits')
    await entered
    await hub.clock.advance(LONG_MS)
    expect(front.counts().sessions).toBe(1)
    finish()
    await (await answer).text()
    await hub.clock.advance(LONG_MS)
    expect(front.counts()).toEqual({ sessions: 0, streams: 0, requests: 0 })
  })
})

describe('a call that was cancelled', () => {
  it('is answered with nothing, and gives its place back', async () => {
    const { front, session, start, entered } = await open()
    const answer = start('waits')
    await entered
    expect((await session.cancel(7)).status).toBe(202)
    const response = await answer
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    expect(await response.text()).toBe('')
    expect(front.counts()).toEqual({ sessions: 1, streams: 0, requests: 0 })
  })

  it('is told that nobody knows what became of it when its token is taken back meanwhile', async () => {
    const { front, start, entered } = await open()
    const answer = start('waits')
    await entered
    await front.revoke('worker')
    const response = await answer
    expect([response.status, await response.json()]).toEqual([
      403,
      expect.objectContaining({
        error: expect.objectContaining({ data: expect.objectContaining({ code: 'OUTCOME_UNKNOWN' }) }),
      }),
    ])
  })

  it('is none when the cancelling was refused, or meant another', async () => {
    const { session, start, entered, finish } = await open()
    const answer = start('waits')
    const signal = await entered
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } }
    expect((await session.post(cancelled, { accept: 'text/html' })).status).toBe(406)
    expect((await session.cancel('7')).status).toBe(202)
    expect((await session.cancel(8)).status).toBe(202)
    expect(signal.aborted).toBe(false)
    finish()
    expect(await (await answer).json()).toMatchObject({ id: 7, result: { content: [{ text: 'done' }] } })
  })

  it('cannot be cancelled in the session of another client', async () => {
    const { front, start, entered, finish } = await open()
    const answer = start('waits')
    const signal = await entered
    const other = await openRawSession(front)
    expect((await other.cancel(7)).status).toBe(202)
    expect(signal.aborted).toBe(false)
    finish()
    await (await answer).text()
  })
})

it('answers two calls with the same id each for itself', async () => {
  const { session, start, entered, finish } = await open()
  const first = start('waits')
  await entered
  const second = await session.call({ name: 'plain' })
  expect(second.messages).toMatchObject([{ id: 7, result: { content: [{ text: 'plain' }] } }])
  finish()
  expect(await (await first).json()).toMatchObject({ id: 7, result: { content: [{ text: 'done' }] } })
})

it('reads an ordinary call in a session from a request that is there as a whole', async () => {
  const { front, session } = await open()
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: 'Bearer token-of-worker',
    'mcp-session-id': session.id,
  }
  const whole = (message: object) => ({
    headers,
    body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })),
  })
  const gone = new AbortController().signal
  const call = whole({ method: 'tools/call', params: { name: 'plain' } })
  expect(front.mayTakeFastPath(headers)).toBe(true)
  expect(await front.answerBuffered(call, gone)).toMatchObject({
    status: 200,
    text: expect.stringContaining('"plain"'),
  })
  expect(front.answerBuffered(whole({ method: 'tools/list' }), gone)).toBeUndefined()
  const elsewhere = { ...call, headers: { ...headers, 'mcp-session-id': 'session_made_up' } }
  expect(front.answerBuffered(elsewhere, gone)).toBeUndefined()
  expect(front.counts().requests).toBe(0)
})
