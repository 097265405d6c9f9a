import { expect, it } from 'vitest'
import type { Progress, ToolResult } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { streamWithProgress } from './ai-tools.ts'

const done: ToolResult = { content: [{ type: 'text', text: 'done' }] }

/** A call that is under way, what it is told with, and what is read of it. */
function begun() {
  const ended = deferred<ToolResult>()
  const told: { tell(progress: Progress): void } = { tell() {} }
  const outputs = streamWithProgress(onProgress => {
    told.tell = onProgress
    return ended.promise
  })
  return { outputs, ended, tell: (progress: Progress) => told.tell(progress) }
}

it('tells what comes on the way, and the result last', async () => {
  const { outputs, ended, tell } = begun()
  const first = outputs.next()
  tell({ progress: 1, total: 3 })
  expect((await first).value).toEqual({
    content: [{ type: 'text', text: '1 of 3' }],
    _meta: { 'quartermaster/progress': { progress: 1, total: 3 } },
  })
  const second = outputs.next()
  tell({ progress: 2, total: 3 })
  tell({ progress: 3, total: 3, message: 'all of it' })
  ended.resolve(done)
  expect((await second).value).toMatchObject({ content: [{ text: 'all of it' }] })
  expect((await outputs.next()).value).toBe(done)
  expect(await outputs.next()).toEqual({ done: true, value: undefined })
})

it('throws what the call throws, however late anybody reads on', async () => {
  const outputs = streamWithProgress(async onProgress => {
    await Promise.resolve()
    onProgress({ progress: 1 })
    throw new Error('broken')
  })
  expect((await outputs.next()).value).toMatchObject({ content: [{ text: '1' }] })
  await expect(outputs.next()).rejects.toThrow('broken')
})

it('tells what came while its reader was busy as soon as it reads on', async () => {
  const { outputs, ended, tell } = begun()
  const first = outputs.next()
  tell({ progress: 1 })
  await first
  tell({ progress: 2 })
  expect((await outputs.next()).value).toMatchObject({ content: [{ text: '2' }] })
  ended.resolve(done)
  expect((await outputs.next()).value).toBe(done)
})
