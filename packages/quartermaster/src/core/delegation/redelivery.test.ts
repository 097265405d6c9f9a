import { expect, it } from 'vitest'
import { openDelegations } from '../../testing/delegation-fixture.ts'
import { openExternalPeers } from '../../testing/external-peer-fixture.ts'

async function openPair() {
  const desk = await openDelegations()
  return { ...desk, ...(await desk.workspaces('ada', 'bob')) }
}

it('leaves a task with its peer while the asker is to answer a question, and while the answer waits or was just read', async () => {
  const { ask, ada, bob, delegations, clock, take, messages } = await openPair()
  const { id, activityId } = await ask(ada, bob)
  await take(bob)
  await delegations.reply(bob, id, { message: 'Which floor?', outcome: 'in_progress' })
  const inHand = async () => {
    await delegations.sweep()
    return (await take(bob)).map(({ text }) => text)
  }
  await clock.advance(3_600_000)
  expect(await inHand()).toEqual([])
  const [question] = await take(ada)
  await messages.sending.reply(ada, question?.id ?? '', { text: 'The first.' })
  await clock.advance(3_600_000)
  expect(await inHand()).toEqual(['The first.'])
  const [answer] = await take(bob)
  await messages.inbox.pop(bob, answer?.id ?? '')
  await clock.advance(1_700_000)
  expect(await inHand()).toEqual([])
  const waiting = messages.inbox.take({ workspace: bob, reader: 'r1', limit: 9, waitMs: 300_000 })
  await clock.advance(200_000)
  await delegations.sweep()
  expect((await waiting).rows.map(row => row.id)).toEqual([activityId])
})

it('takes a question for one however long it is, and shows where it begins and how it ends', async () => {
  const { ask, ada, bob, delegations, clock, take } = await openPair()
  const { id } = await ask(ada, bob)
  await take(bob)
  const message = `I have looked everywhere.${' Boxes and boxes.'.repeat(500)} 🙂 Which floor?`
  const { progress } = await delegations.reply(bob, id, { message, outcome: 'in_progress' })
  expect(progress).toMatch(/^I have looked everywhere\..*….* 🙂 Which floor\?$/)
  await clock.advance(3_600_000)
  await delegations.sweep()
  expect(await take(bob)).toEqual([])
})

it('leaves a task with its peer while that waits for another, and for as long as it is given to go on behind that', async () => {
  const { workspaces, ask, delegations, clock, take } = await openDelegations()
  const { ada, bob, cid } = await workspaces('ada', 'bob', 'cid')
  const { id, activityId } = await ask(ada, bob)
  await take(bob)
  await delegations.reply(bob, id, { message: 'I ask Cid.', outcome: 'in_progress' })
  const part = await ask(bob, cid, { forTask: id })
  const inHand = async () => {
    await delegations.sweep()
    return (await take(bob)).filter(row => row.delegationId === id).map(row => row.id)
  }
  await clock.advance(3_600_000)
  expect(await inHand()).toEqual([])
  await delegations.reply(cid, part.id, { message: 'done' })
  await clock.advance(1_700_000)
  expect(await inHand()).toEqual([])
  await clock.advance(200_000)
  expect(await inHand()).toEqual([activityId])
})

it('tells the program that follows the log of a peer of what is handed back, which is answered and ended as it was before', async () => {
  const { ask, ada, bob, delegations, clock, store, messages } = await openPair()
  await store.commit([{ kind: 'update', table: 'workspaces', where: { id: bob.id }, set: { delivery: 'push' } }])
  const { id, activityId } = await ask(ada, bob, { task: 'count the boxes' })
  await delegations.reply(bob, id, { message: 'I begin.', outcome: 'in_progress' })
  const entries = async () => (await messages.activity.read(bob, { sinceSeconds: 86_400 })).rows
  const waiting = async () => (await store.find('inbox', { where: { workspaceId: bob.id } })).map(row => row.id)
  const { signal } = new AbortController()
  const followed = messages.follow(bob, { from: (await entries()).at(-1)?.sequence ?? 0, signal })
  const next = followed[Symbol.asyncIterator]().next()
  await clock.advance(3_600_000)
  await delegations.sweep()
  const { value: again } = await next
  expect(again).toMatchObject({ type: 'message.received', kind: 'peer_agent', peerId: ada.id, text: 'count the boxes' })
  expect(again).toMatchObject({ delegationId: id })
  expect(again.id).not.toBe(activityId)
  expect(await waiting()).toEqual([again.id])
  // It waits there now, and is not told of again and again.
  const before = await entries()
  await clock.advance(3_600_000)
  await delegations.sweep()
  expect(await entries()).toEqual(before)
  expect(await delegations.carried.openIn(bob, activityId)).toBe(id)
  await messages.sending.reply(bob, again.id, { text: '42' })
  expect(await waiting()).toEqual([])
  for (const answered of [activityId, again.id])
    await expect(messages.sending.reply(bob, answered, { text: '43' })).rejects.toMatchObject({
      code: 'DELEGATION_ENDED',
    })
})

it('asks the store as often for a dozen quiet tasks as for one', async () => {
  const { workspaces, ask, take, clock, store, another } = await openDelegations()
  const { ada, bob } = await workspaces('ada', 'bob')
  async function asked(tasks: number) {
    let count = 0
    const counted = <F extends typeof store.find | typeof store.get>(call: F) =>
      ((table: string, ...rest: never[]) => {
        if (table === 'inbox' || table === 'outgoingtasks') count++
        return (call as (...all: unknown[]) => unknown)(table, ...rest)
      }) as unknown as F
    for (let i = 0; i < tasks; i++) await ask(ada, bob)
    await take(bob)
    await clock.advance(3_600_000)
    await another(undefined, { ...store, find: counted(store.find), get: counted(store.get) }).delegations.sweep()
    return count
  }
  const ofOne = await asked(1)
  expect(await asked(11)).toBe(ofOne)
})

it('never hands back what an agent elsewhere does', async () => {
  const { adaAndPainter, ask, another, remote, settle, delegations, clock, take } = await openExternalPeers()
  const { ada, painter } = await adaAndPainter()
  another().start()
  await ask(ada, painter)
  await settle()
  remote.says('working')
  await clock.advance(3_600_000)
  await delegations.sweep()
  expect(await take(painter)).toEqual([])
})
