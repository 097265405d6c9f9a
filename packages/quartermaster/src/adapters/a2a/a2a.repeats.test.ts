import { expect, it } from 'vitest'
import type { StreamEvent, Task } from '../../testing/a2a-fixture.ts'
import { eventsIn, openA2a, said } from '../../testing/a2a-fixture.ts'

interface Answered {
  readonly result: { readonly task: Task }
}

interface Failed {
  readonly error: { readonly code: number; readonly data: readonly { reason: string }[] }
}

const AT_ONCE = { configuration: { returnImmediately: true } }

/** A task about which Bob has asked something. */
async function asked(question = 'Which room?') {
  const at = await openA2a()
  const given = { message: said('count the boxes') }
  const { task } = (await at.rpc<Answered>('SendMessage', { ...given, ...AT_ONCE })).result
  const [message] = await at.take(at.bob)
  const bobSays = (text: string, outcome?: 'in_progress') =>
    at.delegations.replyTo(at.bob, message?.id ?? '', { message: text, outcome })
  await bobSays(question, 'in_progress')
  return { ...at, given, taskId: task.id, bobSays }
}

it('answers a message that is sent again at once while the task wants input', async () => {
  const at = await asked()
  const again = await at.rpc<Answered>('SendMessage', at.given)
  expect(again.result.task).toMatchObject({ id: at.taskId, status: { state: 'TASK_STATE_INPUT_REQUIRED' } })
})

it('takes an answer that is sent again for the same one, whatever was said since and when the task is over', async () => {
  const at = await asked()
  const answer = { message: said('the hall', { taskId: at.taskId }), ...AT_ONCE }
  const send = async () => (await at.rpc<Answered>('SendMessage', answer)).result.task
  expect((await send()).status.state).toBe('TASK_STATE_WORKING')
  await at.bobSays('Which floor?', 'in_progress')
  expect((await send()).status).toMatchObject({
    state: 'TASK_STATE_INPUT_REQUIRED',
    message: { parts: [{ text: 'Which floor?' }] },
  })
  await at.bobSays('Seven.')
  expect((await send()).status.state).toBe('TASK_STATE_COMPLETED')
  expect((await at.take(at.bob)).filter(({ text }) => text === 'the hall')).toHaveLength(1)
})

it('refuses the id of a message for another one', async () => {
  const at = await asked()
  const send = (text: string) =>
    at.rpc<Failed>('SendMessage', { message: { ...said(text, { taskId: at.taskId }), messageId: 'm' }, ...AT_ONCE })
  await send('the hall')
  await at.bobSays('Which floor?', 'in_progress')
  expect((await send('the second')).error.data[0]?.reason).toBe('IDEMPOTENCY_CONFLICT')
})

it('says nothing in a stream while nothing happens', async () => {
  const at = await asked()
  const events = eventsIn<StreamEvent>(await at.ask(`${at.bob.id}/tasks/${at.taskId}:subscribe`, { method: 'POST' }))
  await events.next()
  const next = events.next()
  for (let times = 0; times < 10; times++) await at.clock.advance(15_000)
  await at.bobSays('Seven.')
  expect((await next).value).toMatchObject({ artifactUpdate: { artifact: { parts: [{ text: 'Seven.' }] } } })
})

it('tells whoever follows when a stream ends before its task, so that they come back', async () => {
  const at = await asked()
  const path = `${at.bob.id}/tasks/${at.taskId}:subscribe`
  const events = eventsIn<object>(await at.ask(path, { method: 'POST' }))
  await events.next()
  const next = events.next()
  await at.clock.breathe()
  await at.delegations.stop()
  expect((await next).value).toMatchObject({
    error: {
      code: 503,
      status: 'UNAVAILABLE',
      message: expect.stringContaining('Subscribe'),
      details: [{ reason: 'STOPPING' }],
    },
  })
  expect((await events.next()).done).toBe(true)
})

it('turns the pages of tasks that want input, whatever changes meanwhile', async () => {
  const at = await openA2a()
  const names = ['one', 'two', 'three', 'four']
  for (const text of names) {
    await at.clock.advance(1_000)
    await at.rpc('SendMessage', { message: said(text), ...AT_ONCE })
  }
  const replies = await at.take(at.bob)
  const ask = (text: string, question: string) =>
    at.delegations.replyTo(at.bob, replies.find(reply => reply.text === text)?.id ?? '', {
      message: question,
      outcome: 'in_progress',
    })
  for (const text of names) {
    await at.clock.advance(1_000)
    await ask(text, `${text}?`)
  }
  const page = async (pageToken = '') => {
    const wish = { status: 'TASK_STATE_INPUT_REQUIRED', pageSize: 2, pageToken }
    const { result } = await at.rpc<{ result: { tasks: Task[]; nextPageToken: string; totalSize: number } }>(
      'ListTasks',
      wish,
    )
    return { ...result, said: result.tasks.map(({ status }) => status.message?.parts[0]) }
  }
  const first = await page()
  expect(first).toMatchObject({ totalSize: 4, said: [{ text: 'four?' }, { text: 'three?' }] })
  await at.clock.advance(1_000)
  await ask('three', 'And now?')
  const second = await page(first.nextPageToken)
  expect(second).toMatchObject({ totalSize: 4, nextPageToken: '', said: [{ text: 'two?' }, { text: 'one?' }] })
  const madeUp = { status: 'TASK_STATE_INPUT_REQUIRED', pageToken: 'made-up' }
  expect((await at.rpc<Failed>('ListTasks', madeUp)).error.code).toBe(-32_602)
})
