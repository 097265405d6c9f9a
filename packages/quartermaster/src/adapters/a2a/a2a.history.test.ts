import { expect, it } from 'vitest'
import type { StreamEvent, Task } from '../../testing/a2a-fixture.ts'
import { eventsIn, openA2a, said } from '../../testing/a2a-fixture.ts'

interface Answered {
  readonly result: { readonly task: Task }
}

const AT_ONCE = { configuration: { returnImmediately: true } }

/** A task about which Bob has asked something. */
async function asked() {
  const at = await openA2a()
  const { task } = (await at.rpc<Answered>('SendMessage', { message: said('count the boxes'), ...AT_ONCE })).result
  const [message] = await at.take(at.bob)
  const bobSays = (text: string, outcome?: 'in_progress') =>
    at.delegations.replyTo(at.bob, message?.id ?? '', { message: text, outcome })
  await bobSays('Which room?', 'in_progress')
  const subscribe = async () =>
    eventsIn<StreamEvent>(await at.ask(`${at.bob.id}/tasks/${task.id}:subscribe`, { method: 'POST' }))
  return { ...at, taskId: task.id, bobSays, subscribe }
}

it('tells everybody who follows a task that it goes on when one of them has answered its question', async () => {
  const at = await asked()
  const one = await at.subscribe()
  const other = await at.subscribe()
  for (const events of [one, other])
    expect((await events.next()).value).toMatchObject({ task: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } })
  const next = [one.next(), other.next()]
  const body = { message: said('the hall', { taskId: at.taskId }) }
  const own = eventsIn<StreamEvent>(await at.ask(`${at.bob.id}/message:stream`, { method: 'POST', body }))
  expect((await own.next()).value).toMatchObject({ task: { status: { state: 'TASK_STATE_WORKING' } } })
  for (const { value } of await Promise.all(next)) {
    expect(value).toMatchObject({ statusUpdate: { taskId: at.taskId, status: { state: 'TASK_STATE_WORKING' } } })
    expect(value).not.toHaveProperty('statusUpdate.status.message')
  }
  // Whoever has said it has it in the first event, and is not told again.
  const last = own.next()
  await at.bobSays('Seven.')
  expect((await last).value).toMatchObject({ artifactUpdate: { artifact: { parts: [{ text: 'Seven.' }] } } })
})

it('tells it also when the answer was given in another way than by A2A', async () => {
  const at = await asked()
  const events = await at.subscribe()
  await events.next()
  const next = events.next()
  const [question] = await at.take(at.ada)
  await at.messages.sending.reply(at.ada, question?.id ?? '', { text: 'the hall' })
  expect((await next).value).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_WORKING' } } })
})

it('lists a task whose question was answered as the one that changed last', async () => {
  const at = await asked()
  await at.clock.advance(1_000)
  const later = (await at.rpc<Answered>('SendMessage', { message: said('sweep'), ...AT_ONCE })).result.task
  const order = async () =>
    (await at.rpc<{ result: { tasks: Task[] } }>('ListTasks', {})).result.tasks.map(({ id }) => id)
  expect(await order()).toEqual([later.id, at.taskId])
  await at.clock.advance(1_000)
  await at.rpc('SendMessage', { message: said('the hall', { taskId: at.taskId }), ...AT_ONCE })
  expect(await order()).toEqual([at.taskId, later.id])
})

it('keeps the ids that clients give their messages, and the order in which all was said', async () => {
  const at = await asked()
  const answer = { ...said('the hall', { taskId: at.taskId }), messageId: 'answer ☂' }
  await at.rpc('SendMessage', { message: answer, ...AT_ONCE })
  await at.bobSays('Seven.')
  const { result } = await at.rpc<{ result: Task }>('GetTask', { id: at.taskId })
  const history = result.history ?? []
  expect(history.map(({ role, parts: [part] }) => [role, part && 'text' in part ? part.text : part])).toEqual([
    ['ROLE_USER', 'count the boxes'],
    ['ROLE_AGENT', 'Which room?'],
    ['ROLE_USER', 'the hall'],
    ['ROLE_AGENT', 'Seven.'],
  ])
  const ids = history.map(({ messageId }) => messageId)
  expect([ids[0], ids[2]]).toEqual(['m-count the boxes', 'answer ☂'])
  expect(new Set(ids).size).toBe(4)
  // What others see of it has our id, which is nobody's to choose.
  expect((await at.take(at.bob)).find(({ text }) => text === 'the hall')).toMatchObject({ senderMessageId: null })
})

it('has in the history of a cancelled task what was said, and in its status why it ended', async () => {
  const at = await openA2a()
  const { task } = (await at.rpc<Answered>('SendMessage', { message: said('count the boxes'), ...AT_ONCE })).result
  const cancelled = (await at.rpc<{ result: Task }>('CancelTask', { id: task.id })).result
  const listed = (await at.rpc<{ result: { tasks: Task[] } }>('ListTasks', { historyLength: 1 })).result.tasks[0]
  for (const told of [cancelled, listed]) {
    expect(told?.history?.map(({ messageId }) => messageId)).toEqual(['m-count the boxes'])
    expect(told?.status.message?.parts).toMatchObject([{ text: 'The asker has cancelled it.' }])
  }
})

it('tells each word of the agent once and in order, also when several were said before anybody looked', async () => {
  const at = await asked()
  const events = await at.subscribe()
  expect((await events.next()).value).toMatchObject({
    task: { status: { message: { parts: [{ text: 'Which room?' }] } } },
  })
  await at.bobSays('Never mind.', 'in_progress')
  await at.bobSays('Half of them.', 'in_progress')
  await at.bobSays('Which floor?', 'in_progress')
  await at.rpc('SendMessage', { message: said('the second', { taskId: at.taskId }), ...AT_ONCE })
  await at.bobSays('Nearly done.', 'in_progress')
  await at.bobSays('Seven.')
  const told: unknown[] = []
  for await (const event of events) {
    if (!('statusUpdate' in event)) continue
    const { state, message } = event.statusUpdate.status
    told.push([
      state.replace('TASK_STATE_', ''),
      ...(message?.parts ?? []).map(part => ('text' in part ? part.text : part)),
    ])
  }
  expect(told).toEqual([
    ['WORKING', 'Never mind.'],
    ['WORKING', 'Half of them.'],
    ['INPUT_REQUIRED', 'Which floor?'],
    ['WORKING'],
    ['WORKING', 'Nearly done.'],
    ['COMPLETED'],
  ])
})
