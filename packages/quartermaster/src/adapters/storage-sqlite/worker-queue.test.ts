import { Worker } from 'node:worker_threads'
import { expect, it, onTestFinished, vi } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { silentLog } from '../system/index.ts'
import type { Answer, Work } from './protocol.ts'
import { createWorkerQueue, type WorkerQueueOptions } from './worker-queue.ts'

/** A thread that does what the SQL says: dies, keeps silent, finds the file unfit, or says it back. */
const THREAD = `
const { parentPort, threadId } = require('node:worker_threads')
parentPort.on('message', message => {
  if (message.kind === 'close') return parentPort.close()
  for (const { id, ...work } of message.requests) {
    const { sql } = work.statement ?? work.statements[0]
    if (sql === 'die') throw new Error('a bug')
    if (sql === 'leave') process.exit(7)
    if (sql === 'unfit') {
      parentPort.postMessage({ kind: 'refused', fault: { message: 'no' } })
      parentPort.close()
    } else if (sql !== 'silence') parentPort.postMessage({ kind: 'answers', answers: [{ id, rows: [[sql, threadId]] }] })
  }
})`

const read = (sql: string): Work => ({ kind: 'read', statement: { sql, parameters: [] } })
const commit = (sql: string): Work => ({
  kind: 'commit',
  statements: [{ sql, parameters: [], finds: false, least: 0, most: 1 }],
})
const said = (answer: Answer) => ('rows' in answer ? answer.rows[0]?.[0] : undefined)

function queueWith(options: Partial<WorkerQueueOptions> = {}) {
  const start = vi.fn<WorkerQueueOptions['start']>(() => new Worker(THREAD, { eval: true }))
  const refusal = () => new AppError('CONFIG_INVALID', 'The file is unfit.')
  const queue = createWorkerQueue({ name: 'test', start, log: silentLog, refusal, mostWaiting: 10_000, ...options })
  onTestFinished(() => queue.close())
  return { queue, start }
}

it('starts its thread for the first request and keeps it', async () => {
  const { queue, start } = queueWith()
  expect(start).not.toHaveBeenCalled()
  expect((await Promise.all(['a', 'b'].map(sql => queue.ask(read(sql))))).map(said)).toEqual(['a', 'b'])
  expect(said(await queue.ask(read('c')))).toBe('c')
  expect(start).toHaveBeenCalledOnce()
})

it.each(['die', 'leave'])('fails the requests of a dying thread, and continues with a new one (%s)', async end => {
  const { queue, start } = queueWith()
  await queue.ask(read('a'))
  const inHand = [commit('silence'), read('silence'), commit(end)].map(work => queue.ask(work))
  const ends = await Promise.allSettled(inHand)
  expect(ends.map(one => (one.status === 'rejected' ? one.reason.code : one.value))).toEqual([
    'OUTCOME_UNKNOWN',
    'INTERNAL',
    'OUTCOME_UNKNOWN',
  ])
  expect(said(await queue.ask(read('b')))).toBe('b')
  expect(start).toHaveBeenCalledTimes(2)
  expect(queue.restarts()).toBe(1)
})

it('keeps the requests that a dying thread had not received', async () => {
  const { queue } = queueWith()
  await queue.ask(read('a'))
  const given = Array.from({ length: 1_024 }, (_, i) => queue.ask(commit(i === 1_023 ? 'die' : 'silence')))
  const waiting = Array.from({ length: 20 }, (_, i) => queue.ask(read(`later ${i}`)))
  const lost = await Promise.allSettled(given)
  expect(lost.every(one => one.status === 'rejected')).toBe(true)
  expect((await Promise.all(waiting)).map(said)).toEqual(waiting.map((_, i) => `later ${i}`))
})

it('fails permanently when a thread dies before its first answer', async () => {
  const { queue, start } = queueWith()
  const asked = await Promise.allSettled([queue.ask(commit('die')), queue.ask(read('a'))])
  expect(asked).toMatchObject([{ reason: { code: 'OUTCOME_UNKNOWN' } }, { reason: { code: 'INTERNAL' } }])
  await expect(queue.ask(read('b'))).rejects.toThrow(/until this process is started again/)
  expect(start).toHaveBeenCalledOnce()
})

it('fails with the reason that a thread reports', async () => {
  const { queue } = queueWith()
  await expect(queue.ask(read('unfit'))).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  await expect(queue.ask(read('a'))).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})

it('fails when no thread can be started', async () => {
  const start = () => {
    throw new Error('no memory')
  }
  const { queue } = queueWith({ start })
  await expect(queue.ask(read('a'))).rejects.toThrow(/no memory/)
  await queue.close()
})

it('refuses requests beyond its limit, and accepts more when there is room', async () => {
  const { queue } = queueWith({ mostWaiting: 2 })
  const first = [queue.ask(read('a')), queue.ask(read('b'))]
  await expect(queue.ask(read('c'))).rejects.toMatchObject({ code: 'STORE_BUSY', details: { waiting: 2 } })
  await Promise.all(first)
  expect(said(await queue.ask(read('c')))).toBe('c')
})

it('counts requests without an answer', async () => {
  const { queue } = queueWith()
  const asked = [queue.ask(read('a')), queue.ask(read('b'))]
  expect(queue.waiting()).toBe(2)
  await Promise.all(asked)
  expect(queue.waiting()).toBe(0)
})

it('closes after the last answer, also when its thread dies or never started', async () => {
  const { queue } = queueWith()
  await queue.ask(read('a'))
  const last = queue.ask(commit('die'))
  const [closed] = await Promise.allSettled([queue.close(), last])
  expect(closed.status).toBe('fulfilled')
  await expect(last).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' })
  await expect(queue.ask(read('b'))).rejects.toMatchObject({ code: 'STOPPING' })
  await queueWith().queue.close()
})
