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
  const { session } = createLegacySession(line, facts, { clock: createFakeClock(), events: EVENTS })
  const canAnswer = { form: false, url: false, model: false, roots: false }
  const behind = { caller: 'worker', canAnswer, ask: async () => ({ action: 'decline' as const }), log() {} }
  const result = session.ask('tools/call', { name: 'slow' }, { signal, behind, asTask: true })
  return { asked, result }
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
    throw new SendFailure('It broke.', { wasSent: 'no', retryAfterMs: 1 })
  })
  await expect(result).rejects.toMatchObject({ wasSent: 'maybe', retryAfterMs: undefined })
})
