import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { bareLine, factsOf, NO_EVENTS } from '../testing/bare-session.ts'
import { openSilentServer } from '../testing/silent-server.ts'
import { untilAborted } from '../testing/until-aborted.ts'
import { SendFailure } from './channel.ts'
import { createLegacySession } from './legacy-session.ts'
import { type Peer, type RequestOptions } from './peer.ts'

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
  const result = session.ask('tools/call', { name: 'slow' }, { signal, requester: BEHIND, asTask: true })
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
describe('a task that is given up before it has a name', () => {
  async function givenUp() {
    const server = await openSilentServer({ capabilities: TASKS })
    const controller = new AbortController()
    const options = { signal: controller.signal, requester: BEHIND, asTask: true }
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
})

it('never counts a task that was begun as not sent', async () => {
  const { result } = callTask(async method => {
    if (method === 'tools/call') return BEGUN
    throw new SendFailure('It broke.', { wasSent: 'no' })
  })
  await expect(result).rejects.toMatchObject({ wasSent: 'maybe', retryAfterMs: undefined })
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
