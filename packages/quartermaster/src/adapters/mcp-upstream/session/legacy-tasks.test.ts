import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { SendFailure } from './channel.ts'
import { createLegacySession } from './legacy-session.ts'
import type { Line } from './line.ts'
import type { RequestOptions } from './peer.ts'

const TASKS = { tasks: { requests: { tools: { call: {} } } } }
const EVENTS = { onListChanged() {}, onResourceUpdated() {}, onLog() {}, onCrowded() {} }
const FOREVER = new AbortController().signal

type Answering = (method: string, params: Params, options: RequestOptions) => Promise<Params>

/** Calls a tool that only runs as a task, of a server that answers as the test says. */
function callTask(answer: Answering, { capabilities = TASKS as Params, signal = FOREVER } = {}) {
  const asked: unknown[] = []
  const request: Answering = (method, params, options) => {
    asked.push([method, params])
    return answer(method, params, options)
  }
  const line = { peer: { request } } as unknown as Line
  const facts = {
    era: 'legacy',
    version: '',
    server: { name: '', version: '' },
    instructions: '',
    capabilities,
  } as const
  const clock = createFakeClock()
  const { session } = createLegacySession(line, facts, { clock, events: EVENTS })
  const canAnswer = { form: false, url: false, model: false, roots: false }
  const behind = { caller: 'worker', canAnswer, ask: async () => ({ action: 'decline' as const }), log() {} }
  const result = session.ask('tools/call', { name: 'slow' }, { signal, behind, asTask: true })
  return { asked, result, clock }
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
  const untilAborted: Answering = (_method, _params, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const { asked, result } = callTask(
    async (...request) => {
      if (request[0] === 'tools/call') return BEGUN
      return request[0] === 'tasks/result' ? untilAborted(...request) : {}
    },
    { signal: controller.signal },
  )
  await expect.poll(() => asked).toHaveLength(2)
  controller.abort(new Error('enough'))
  await expect(result).rejects.toThrow('enough')
  expect(asked.at(-1)).toEqual(['tasks/cancel', { taskId: 't1' }])
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
