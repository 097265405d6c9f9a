import { describe, expect, it } from 'vitest'
import { remove } from '../../core/store/index.ts'
import type { Task } from '../../testing/a2a-fixture.ts'
import { openA2a, said } from '../../testing/a2a-fixture.ts'

interface Answered {
  readonly result: { readonly task: Task }
}

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

const DATA_FIRST = [{ data: { k: [1, 2] } }, { text: 'then text' }, { data: null }, { text: 'and more' }]
const KEPT = [
  { kind: 'data', data: { k: [1, 2] } },
  { kind: 'text', text: 'then text' },
  { kind: 'data', data: null },
  { kind: 'text', text: 'and more' },
]
const TEXT = 'then text\n\nand more\n\n{"k":[1,2]}\n\nnull'

describe('text and data', () => {
  it('reach the agent in their form and order, and are told back so, also after the log has forgotten them', async () => {
    const at = await openA2a()
    const { task } = (
      await at.rpc<Answered>('SendMessage', { message: { messageId: 'm', parts: DATA_FIRST }, ...AT_ONCE })
    ).result
    expect(await at.take(at.bob)).toMatchObject([{ text: TEXT, parts: KEPT }])
    const history = async () =>
      (await at.rpc<{ result: Task }>('GetTask', { id: task.id })).result.history?.map(({ parts }) => parts)
    expect(await history()).toEqual([told(DATA_FIRST)])
    await at.store.commit([remove('activity', { where: { workspaceId: at.ada.id }, rows: 'any' })])
    expect(await history()).toEqual([told(DATA_FIRST)])
  })

  it('wait for their turn as they came', async () => {
    const at = await openA2a()
    await at.store.commit([{ kind: 'update', table: 'workspaces', where: { id: at.bob.id }, set: { capacity: 1 } }])
    await at.rpc('SendMessage', { message: said('first'), ...AT_ONCE })
    await at.rpc('SendMessage', { message: { messageId: 'm', parts: DATA_FIRST }, ...AT_ONCE })
    const [first] = await at.take(at.bob)
    await at.delegations.replyTo(at.bob, first?.id ?? '', { message: 'done' })
    expect((await at.take(at.bob)).at(-1)).toMatchObject({ text: TEXT, parts: KEPT })
  })

  it('answer a question of the agent as they came', async () => {
    const at = await openA2a()
    const { task } = (await at.rpc<Answered>('SendMessage', { message: said('count'), ...AT_ONCE })).result
    const [message] = await at.take(at.bob)
    const asks = { message: 'Which?', parts: [{ kind: 'data' as const, data: ['hall', 'attic'] }] }
    await at.delegations.replyTo(at.bob, message?.id ?? '', { ...asks, outcome: 'in_progress' })
    const answer = { messageId: 'a', taskId: task.id, parts: DATA_FIRST }
    const { result } = await at.rpc<Answered>('SendMessage', { message: answer, ...AT_ONCE })
    expect(result.task.history?.map(({ parts }) => parts)).toEqual([
      told([{ text: 'count' }]),
      told([{ text: 'Which?' }, { data: ['hall', 'attic'] }]),
      told(DATA_FIRST),
    ])
    expect((await at.take(at.bob)).at(-1)).toMatchObject({ text: TEXT, parts: KEPT })
  })

  it('are another message in another order, to a new task and to one that is under way', async () => {
    const at = await openA2a()
    const parts = DATA_FIRST.toReversed()
    const first = (await at.rpc<Answered>('SendMessage', { message: { messageId: 'm', parts }, ...AT_ONCE })).result
    const [message] = await at.take(at.bob)
    await at.delegations.replyTo(at.bob, message?.id ?? '', { message: 'Which?', outcome: 'in_progress' })
    const answer = { messageId: 'a', taskId: first.task.id }
    await at.rpc('SendMessage', { message: { ...answer, parts }, ...AT_ONCE })
    for (const same of [{ messageId: 'm' }, answer]) {
      const again = await at.rpc<Answered>('SendMessage', { message: { ...same, parts }, ...AT_ONCE })
      expect(again.result.task.id).toBe(first.task.id)
      const other = await at.rpc<Failed>('SendMessage', { message: { ...same, parts: DATA_FIRST }, ...AT_ONCE })
      expect(other.error.code).toBe(-32_000)
    }
  })
})

/** As a client gets it. */
function told(parts: readonly object[]): object[] {
  return parts.map(part => ({ ...part, mediaType: 'text' in part ? 'text/plain' : 'application/json' }))
}

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
