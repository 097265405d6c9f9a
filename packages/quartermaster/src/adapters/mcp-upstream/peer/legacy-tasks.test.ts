import { describe, expect, it } from 'vitest'
import type { CancelSignal } from '../../../core/kernel/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Message, Params } from '../../mcp-wire/index.ts'
import { bareLine, factsOf, NO_EVENTS } from '../testing/bare-session.ts'
import { openSilentServer } from '../testing/silent-server.ts'
import { untilAborted } from '../testing/until-aborted.ts'
import { type Channel, SendFailure } from './channel.ts'
import { createLegacySession, LATE_MS } from './legacy-session.ts'
import { createPeer, type Peer, type RequestOptions } from './peer.ts'

const TASKS = { tasks: { requests: { tools: { call: {} } } } }
const FOREVER = new AbortController().signal

type Answering = (method: string, params: Params, options: RequestOptions) => Promise<Params>

/** Calls a tool that only runs as a task, of a server that answers as the test says. */
function callTask(answer: Answering, { capabilities = TASKS as Params, signal = FOREVER } = {}) {
  const asked: unknown[] = []
  const request: Answering = (method, params, options) => {
    asked.push([method, params])
    return answer(method, params, options)
  }
  const { session, clock } = sessionWith({ request } as unknown as Peer, capabilities)
  const result = session.ask('tools/call', { name: 'slow' }, { signal, behind: BEHIND, asTask: true })
  return { asked, result, clock }
}

const BEHIND = {
  caller: 'worker',
  canAnswer: { form: false, url: false, model: false, roots: false },
  ask: async () => ({ action: 'decline' as const }),
  log() {},
}

function sessionWith(peer: Peer, capabilities: Params) {
  const line = bareLine(peer)
  const clock = createFakeClock()
  return { clock, ...createLegacySession(line, factsOf({ capabilities }), { clock, events: NO_EVENTS }) }
}

const BEGUN = { task: { taskId: 't1', status: 'working' } }

it('begins a task for a tool that only runs as one, and waits for its result', async () => {
  const { asked, result } = callTask(async method => (method === 'tools/call' ? BEGUN : { content: [] }))
  expect(await result).toEqual({ content: [] })
  expect(asked).toEqual([
    ['tools/call', { name: 'slow', task: {} }],
    ['tasks/result', { taskId: 't1' }],
  ])
})

it('takes an answer that came at once, and asks no server for tasks that does not say it has them', async () => {
  const quick = callTask(async () => ({ content: [] }))
  expect(await quick.result).toEqual({ content: [] })
  const plain = callTask(async () => ({ content: [] }), { capabilities: {} })
  expect(await plain.result).toEqual({ content: [] })
  expect(plain.asked).toEqual([['tools/call', { name: 'slow' }]])
})

it('cancels the task when nobody waits for it any more', async () => {
  const controller = new AbortController()
  const { asked, result } = callTask(
    async (method, _params, { signal }) => {
      if (method === 'tools/call') return BEGUN
      return method === 'tasks/result' ? untilAborted(signal) : {}
    },
    { signal: controller.signal },
  )
  await expect.poll(() => asked).toHaveLength(2)
  controller.abort(new Error('enough'))
  await expect(result).rejects.toThrow('enough')
  expect(asked.at(-1)).toEqual(['tasks/cancel', { taskId: 't1' }])
})

it('gives up on a server that does not say whether it has cancelled a task', async () => {
  const controller = new AbortController()
  const cancels: CancelSignal[] = []
  const { asked, result, clock } = callTask(
    async (method, _params, { signal }) => {
      if (method === 'tools/call') return BEGUN
      if (method === 'tasks/cancel') cancels.push(signal)
      return untilAborted(signal)
    },
    { signal: controller.signal },
  )
  await expect.poll(() => asked).toHaveLength(2)
  controller.abort(new Error('enough'))
  await expect(result).rejects.toThrow('enough')
  expect(cancels.map(({ aborted }) => aborted)).toEqual([false])
  await clock.advance(2_000)
  expect(cancels.map(({ aborted }) => aborted)).toEqual([true])
})

describe('a task that is given up before it has a name', () => {
  async function givenUp() {
    const server = await openSilentServer({ capabilities: TASKS })
    const controller = new AbortController()
    const options = { signal: controller.signal, behind: BEHIND, asTask: true }
    const result = server.session.ask('tools/call', { name: 'slow' }, options)
    controller.abort(new Error('enough'))
    await expect(result).rejects.toThrow('enough')
    const [id] = server.idsOf('tools/call')
    return { ...server, id }
  }

  it('is cancelled when it gets one', async () => {
    const { clock, sent, say, id } = await givenUp()
    say({ id, result: BEGUN })
    await clock.advance(0)
    expect(sent.at(-1)).toMatchObject({ method: 'tasks/cancel', params: { taskId: 't1' } })
    expect(sent).not.toContainEqual(expect.objectContaining({ method: 'notifications/cancelled' }))
  })

  it('is given up like any other request when it gets none for a while', async () => {
    const { clock, sent, id } = await givenUp()
    await clock.advance(LATE_MS)
    expect(sent.at(-1)).toMatchObject({ method: 'notifications/cancelled', params: { requestId: id } })
  })
})

it('never counts a task that was begun as not sent', async () => {
  const { result } = callTask(async method => {
    if (method === 'tools/call') return BEGUN
    throw new SendFailure('It broke.', { wasSent: 'no' })
  })
  await expect(result).rejects.toMatchObject({ wasSent: 'maybe', retryAfterMs: undefined })
})

it('is not begun again where that would be to ask again what it asked', async () => {
  const { result } = callTask(async method => {
    if (method === 'tools/call') return BEGUN
    throw new SendFailure('It could not be given the answer.', { wasSent: 'maybe', isFinal: true })
  })
  await expect(result).rejects.toMatchObject({ wasSent: 'maybe', isFinal: true })
})

it('asks again for the result when a busy server says when, and begins nothing twice', async () => {
  const answers = [
    new SendFailure('It is busy.', { wasSent: 'no', status: 429, retryAfterMs: 2_000 }),
    new SendFailure('It is busy.', { wasSent: 'maybe', status: 503, retryAfterMs: 1_000 }),
    { content: [] },
  ]
  const { asked, result, clock } = callTask(async method => {
    if (method === 'tools/call') return BEGUN
    const answer = answers.shift() ?? {}
    if (answer instanceof Error) throw answer
    return answer
  })
  await clock.advance(1_999)
  expect(asked).toHaveLength(2)
  await clock.advance(1_001)
  expect(await result).toEqual({ content: [] })
  expect(asked.map(one => (one as string[])[0])).toEqual(['tools/call', ...Array(3).fill('tasks/result')])
})

it('gives up on a result for which a server is always too busy: nobody knows what became of the task', async () => {
  const { asked, result, clock } = callTask(async method => {
    if (method === 'tools/call') return BEGUN
    throw new SendFailure('It is busy.', { wasSent: 'no', status: 429, retryAfterMs: 1_000 })
  })
  result.catch(() => {})
  await clock.advance(60_000)
  await expect(result).rejects.toMatchObject({ wasSent: 'maybe', retryAfterMs: undefined })
  expect(asked).toHaveLength(6)
})

it('tells how far a task has come until it is over, by the token that its call was given', async () => {
  const tell = (progressToken: unknown, progress: number) =>
    peer.receive({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress } })
  let token: unknown
  const send = async (message: Message) => {
    const { id, method, params } = message as { id: number; method: string; params: { _meta?: Params } }
    const isCall = method === 'tools/call'
    if (isCall) token = params._meta?.progressToken
    tell(token, isCall ? 1 : 2)
    peer.receive({ jsonrpc: '2.0', id, result: isCall ? BEGUN : { content: [] } })
  }
  const channel: Channel = { send, close: async () => {}, pids: () => [], hasExchanges: false }
  const serving = { serve: async () => ({}), notice() {}, cancelBy: () => 'notification' as const }
  const peer = createPeer(() => channel, { clock: createFakeClock(), ...serving })
  const { session } = sessionWith(peer, TASKS)
  const heard: number[] = []
  const onProgress = ({ progress }: { progress: number }) => void heard.push(progress)
  const options = { signal: FOREVER, behind: BEHIND, asTask: true, onProgress, idempotencyKey: 'once' }
  await session.ask('tools/call', { name: 'slow' }, options)
  tell(token, 3)
  expect(heard).toEqual([1, 2])
})
