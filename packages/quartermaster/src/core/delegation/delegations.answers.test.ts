import { describe, expect, it } from 'vitest'
import { DEFAULT_ORGANISATION, isStorable, MESSAGE_BYTES, MOST_WAITING_MESSAGES } from '../../contracts/index.ts'
import { openDelegations } from '../../testing/delegation-fixture.ts'

async function openTask() {
  const desk = await openDelegations()
  const { ada, bob } = await desk.workspaces('ada', 'bob')
  const row = await desk.ask(ada, bob)
  const [task] = await desk.take(bob)
  const waiting = () => desk.store.count('inbox', { workspaceId: ada.id })
  return { ...desk, ada, bob, row, activityId: task?.id ?? '', waiting }
}

describe('an answer that is given twice', () => {
  it('is one, also when two processes are given it at once', async () => {
    const { another, delegations, bob, row, waiting } = await openTask()
    const both = [delegations, another().delegations]
    const done = await Promise.all(both.map(one => one.reply(bob, row.id, { message: 'seven' })))
    expect(done.map(({ state }) => state)).toEqual(['completed', 'completed'])
    expect(await waiting()).toBe(1)
  })

  it('is one under the same key while the task goes on, and another under that key is refused', async () => {
    const { messages, another, bob, activityId, waiting, store } = await openTask()
    const post = { text: 'Which boxes?', outcome: 'in_progress', idempotencyKey: 'call-1' } as const
    const both = [messages, another().messages]
    const sent = await Promise.all(both.map(one => one.sending.reply(bob, activityId, post)))
    expect(new Set(sent.map(one => one.activityId)).size).toBe(1)
    expect(await messages.sending.reply(bob, activityId, post)).toMatchObject({ isRepeat: true })
    expect(await waiting()).toBe(1)
    await expect(messages.sending.reply(bob, activityId, { ...post, text: 'What?' })).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
    })
    await messages.sending.reply(bob, activityId, { text: 'Seven.', idempotencyKey: 'call-2' })
    expect(await messages.sending.reply(bob, activityId, post)).toMatchObject({ isRepeat: true })
    expect(await store.count('delegations', { state: 'completed' })).toBe(1)
  })

  it('is one as well where it answers what the asker said on the way, and other words are an ordinary message', async () => {
    const { messages, ada, bob, activityId, take, waiting } = await openTask()
    await messages.sending.reply(bob, activityId, { text: 'Which boxes?', outcome: 'in_progress' })
    const [question] = await take(ada)
    await messages.sending.reply(ada, question?.id ?? '', { text: 'The red ones.' })
    const [words] = await take(bob)
    const say = (text: string) => messages.sending.reply(bob, words?.id ?? '', { text })
    const first = await say('Seven.')
    const [told] = await take(ada)
    // The asker knows which of its messages is answered.
    expect(told?.inReplyTo).toBe(`${words?.messageId}_out`)
    expect([await say('Seven.'), await say('Seven.')]).toEqual([1, 2].map(() => ({ ...first, isRepeat: true })))
    expect(await waiting()).toBe(1)
    await say('And one more.')
    expect(await waiting()).toBe(2)
  })

  it('cancels once, however often it is said', async () => {
    const { delegations, another, ada, row, store } = await openTask()
    await Promise.all([delegations.cancel(ada, row.id), another().delegations.cancel(ada, row.id)])
    expect(await delegations.cancel(ada, row.id)).toMatchObject({
      state: 'cancelled',
      error: 'The asker has cancelled it.',
    })
    expect(await store.count('activity', { workspaceId: ada.id, kind: 'delegation_result' })).toBe(1)
    const done = await openTask()
    await done.delegations.reply(done.bob, done.row.id, { message: 'done' })
    await expect(done.delegations.cancel(done.ada, done.row.id)).rejects.toMatchObject({ code: 'DELEGATION_ENDED' })
  })
})

describe('what is long', () => {
  it('goes on exactly where the notice ends, and no page begins or ends with half a character', async () => {
    const { delegations, ada, bob, row, take } = await openTask()
    const whole = `${'x'.repeat(49_999)}${'😀'.repeat(600_000)}`
    await delegations.reply(bob, row.id, { message: whole })
    const [notice] = await take(ada)
    const [, shown = '', offset = ''] = /^(.*)\n\n\(.* offset (\d+)\)$/su.exec(notice?.text ?? '') ?? []
    const rest = await delegations.detail(await delegations.expect(ada, row.id), Number(offset))
    expect(isStorable(`${shown}${rest.result?.text}`)).toBe(true)
    expect(whole.startsWith(`${shown}${rest.result?.text}`)).toBe(true)
    const within = await delegations.detail(await delegations.expect(ada, row.id), 50_000)
    expect(within.result?.offset).toBe(49_999)
    expect(isStorable(within.result?.text ?? '')).toBe(true)
  })

  it('is refused on the way when it does not fit into a message, because only a result is kept in pages', async () => {
    const { delegations, bob, row } = await openTask()
    const said = { message: 'x'.repeat(MESSAGE_BYTES + 1), outcome: 'in_progress' } as const
    await expect(delegations.reply(bob, row.id, said)).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
    const whole = { ...said, message: 'y'.repeat(MESSAGE_BYTES) }
    expect(await delegations.reply(bob, row.id, whole)).toMatchObject({ state: 'in_progress' })
  })
})

it('stays open when its message is put aside or handed to another reader, and the first answer counts', async () => {
  const { messages, delegations, bob, row, activityId, clock, stateOf } = await openTask()
  await clock.advance(3_600_000)
  const again = await messages.inbox.take({ workspace: bob, reader: 'r2', limit: 10 })
  expect(again.rows.map(({ id }) => id)).toEqual([activityId])
  expect(await delegations.carried.openIn(bob, activityId)).toBe(row.id)
  await messages.inbox.pop(bob, activityId)
  expect(await stateOf(row.id)).toBe('in_progress')
  await messages.sending.reply(bob, activityId, { text: 'seven' })
  await expect(messages.sending.reply(bob, activityId, { text: 'eight' })).rejects.toMatchObject({
    code: 'DELEGATION_ENDED',
  })
  expect(await delegations.carried.openIn(bob, activityId)).toBeUndefined()
})

it('goes on when one of the two is moved out of the reach of the other, and tells its end', async () => {
  const { organisation, delegations, messages, ada, bob, row, activityId, take, ask } = await openTask()
  const aside = await organisation.workspaces.create(DEFAULT_ORGANISATION, { name: 'aside' })
  await organisation.workspaces.change(DEFAULT_ORGANISATION, bob.id, { parent: aside.id })
  await expect(ask(ada, bob)).rejects.toMatchObject({ code: 'PEER_NOT_FOUND' })
  expect(await delegations.expect(ada, row.id)).toMatchObject({ state: 'in_progress' })
  await messages.sending.reply(bob, activityId, { text: 'seven' })
  expect((await take(ada)).map(({ text }) => text)).toEqual(['seven'])
})

it('takes no more words on the way than an inbox has room for, and every end', async () => {
  const { another, store, bob, row, waiting } = await openTask()
  const count: typeof store.count = async (table, where) =>
    table === 'inbox' ? MOST_WAITING_MESSAGES : store.count(table, where)
  const { delegations } = another(undefined, { ...store, count })
  const going = delegations.reply(bob, row.id, { message: 'still', outcome: 'in_progress' })
  await expect(going).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
  await delegations.reply(bob, row.id, { message: 'done' })
  expect(await waiting()).toBe(1)
})

it('says of one that has expired how far it came', async () => {
  const { delegations, ada, bob, row, ask, take, clock, store, messages } = await openTask()
  await store.commit([{ kind: 'update', table: 'workspaces', where: { id: bob.id }, set: { capacity: 2 } }])
  const untaken = await ask(ada, bob)
  const waits = await ask(ada, bob)
  await clock.advance(86_400_000)
  await delegations.sweep()
  const texts = (await take(ada)).map(({ text }) => text)
  expect(texts).toHaveLength(3)
  const of = (id: string) => texts.find(text => text.includes(id))
  expect(of(row.id)).toContain('"bob" has taken it and has not answered.')
  expect(of(untaken.id)).toContain('"bob" has not taken it.')
  expect(of(waits.id)).toContain('"bob" was busy with other tasks all the time.')
  const log = await messages.activity.read(bob, {})
  expect(log.rows.some(({ delegationId }) => delegationId === waits.id)).toBe(false)
})

it('tells nobody by a cursor whether a task of others is there', async () => {
  const { delegations, organisation, row } = await openTask()
  const cid = await organisation.workspaces.create(DEFAULT_ORGANISATION, { name: 'cid' })
  const list = (cursor: string) => delegations.list({ organisation: DEFAULT_ORGANISATION, workspace: cid, cursor })
  const [there, guessed] = await Promise.allSettled([list(row.id), list('task_guessed')])
  expect(there).toMatchObject({ status: 'rejected', reason: { code: 'CURSOR_GONE' } })
  expect(guessed).toMatchObject({ status: 'rejected', reason: { code: 'CURSOR_GONE' } })
})

it('says that the task changes all the time, and not that the peer is gone, to an asker whose words never get their turn', async () => {
  const { delegations, another, ada, bob, row, take, store } = await openTask()
  await delegations.reply(bob, row.id, { message: 'Which boxes?', outcome: 'in_progress' })
  const [question] = await take(ada)
  const commit: typeof store.commit = async writes => {
    const { version = 0 } = (await store.get('delegations', row.id)) ?? {}
    const set = { version: version + 1 }
    await store.commit([{ kind: 'update', table: 'delegations', where: { id: row.id }, set }])
    return store.commit(writes)
  }
  const { sending } = another(undefined, { ...store, commit }).messages
  const inReplyTo = question?.id ?? ''
  for (const said of [
    sending.reply(ada, inReplyTo, { text: 'The red ones.' }),
    sending.toPeer(ada, 'bob', { text: 'The red ones.', inReplyTo }),
  ])
    await expect(said).rejects.toMatchObject({ code: 'STORE_BUSY', message: expect.stringContaining(row.id) })
})
