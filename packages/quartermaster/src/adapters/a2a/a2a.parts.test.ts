import { describe, expect, it } from 'vitest'
import { openA2a, said } from '../../testing/a2a-desk.ts'
import type { Task } from './wire.ts'

interface Failed {
  readonly error: { readonly code: number; readonly message: string }
}

const AT_ONCE = { configuration: { returnImmediately: true } }

describe('a message', () => {
  it.each([
    ['both text and data', [{ text: 'count', data: { boxes: 7 } }], -32_602],
    ['nothing but blanks', [{ text: ' ' }, { text: '\n' }], -32_602],
    ['no content', [{}], -32_602],
    ['bytes', [{ text: 'look' }, { raw: 'aGk=', filename: 'a.txt' }], -32_005],
    ['an address', [{ url: 'https://example.com/a.pdf' }], -32_005],
  ])('is refused with %s, and makes no task', async (_, parts, code) => {
    const at = await openA2a()
    const refused = await at.rpc<Failed>('SendMessage', { message: { messageId: 'm', parts }, ...AT_ONCE })
    expect(refused.error).toMatchObject({ code, message: expect.stringMatching(/^message\.parts/) })
    expect(await at.take(at.bob)).toEqual([])
  })

  it.each([
    ['text beside nulls', [{ text: 'count', data: null, raw: null, url: null }], 'count'],
    ['words before data', [{ data: { boxes: 7 } }, { text: 'count' }], 'count\n\n{"boxes":7}'],
    ['data alone', [{ data: [1, 2] }], '[1,2]'],
  ])('is taken with %s', async (_, parts, text) => {
    const at = await openA2a()
    await at.rpc('SendMessage', { message: { messageId: 'm', parts }, ...AT_ONCE })
    expect(await at.take(at.bob)).toMatchObject([{ text }])
  })
})

it('tells as much history as there is to whoever wants more', async () => {
  const at = await openA2a()
  const most = 2_147_483_647
  const wish = { message: said('count the boxes'), configuration: { returnImmediately: true, historyLength: most } }
  const { result } = await at.rpc<{ result: { task: Task } }>('SendMessage', wish)
  expect(result.task.history).toHaveLength(1)
  const got = await at.rpc<{ result: Task }>('GetTask', { id: result.task.id, historyLength: most })
  expect(got.result.history).toHaveLength(1)
  const listed = await at.rpc<{ result: { tasks: Task[] } }>('ListTasks', { historyLength: most })
  expect(listed.result.tasks[0]?.history).toHaveLength(1)
})

it('finds tasks by the number of their state too, also in a query', async () => {
  const at = await openA2a()
  await at.rpc('SendMessage', { message: said('count the boxes'), ...AT_ONCE })
  const total = async (status: string) =>
    (await at.hear<{ totalSize: number }>(`${at.bob.id}/tasks?status=${status}`)).body.totalSize
  expect(await total('1')).toBe(1)
  expect(await total('3')).toBe(0)
  expect((await at.hear(`${at.bob.id}/tasks?status=9`)).status).toBe(400)
})

it.each([
  ['GetTask', { id: 'a\u0000' }],
  ['CancelTask', { id: 'a\uD800' }],
  ['SubscribeToTask', { id: 'a\u0000' }],
  ['ListTasks', { contextId: 'a\u0000' }],
  ['SendMessage', { message: said('x', { taskId: 'a\u0000' }) }],
  ['SendMessage', { message: said('x', { contextId: 'a\u0000' }) }],
  ['SendMessage', { message: said('x', { messageId: 'a\uD800' }) }],
])('refuses text that no store can keep in %s', async (method, params) => {
  const at = await openA2a()
  expect((await at.rpc<Failed>(method, params)).error.code).toBe(-32_602)
})

it('refuses a body that says how large it is without breaking it off, so that the connection can be used again', async () => {
  const at = await openA2a()
  let pulled = 0
  const body = new ReadableStream({ pull: () => void pulled++ }, { highWaterMark: 0 })
  const headers = { 'content-length': '3000000' }
  const { status } = await at.hear(`${at.bob.id}/message:send`, { method: 'POST', body, headers })
  expect([status, pulled, body.locked]).toEqual([413, 0, false])
})
