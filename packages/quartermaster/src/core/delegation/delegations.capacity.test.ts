import { expect, it } from 'vitest'
import type { WorkspaceRow } from '../../contracts/index.ts'
import { openDelegations } from '../../testing/delegation-fixture.ts'

async function openBusy(capacity: number) {
  const desk = await openDelegations()
  const { ada, bob } = await desk.workspaces('ada', 'bob')
  const takes = (places: number) =>
    desk.store.commit([{ kind: 'update', table: 'workspaces', where: { id: bob.id }, set: { capacity: places } }])
  await takes(capacity)
  const held = (peer: WorkspaceRow) =>
    desk.store.count('delegations', { toId: peer.id, state: { in: ['pending', 'in_progress'] } })
  return { ...desk, ada, bob, takes, held }
}

it('hands on nothing to a peer that takes less since, until it has as few as it takes', async () => {
  const { ask, takes, held, ada, bob, delegations, stateOf } = await openBusy(3)
  const [one, two, three] = [await ask(ada, bob), await ask(ada, bob), await ask(ada, bob)]
  const waits = await ask(ada, bob)
  await takes(1)
  await delegations.reply(bob, one?.id ?? '', { message: 'done' })
  await delegations.sweep()
  expect(await held(bob)).toBe(2)
  await delegations.reply(bob, two?.id ?? '', { message: 'done' })
  expect(await stateOf(waits.id)).toBe('queued')
  // The last one has a place that the peer does not give any more, and what waits comes to its turn all the same.
  await delegations.reply(bob, three?.id ?? '', { message: 'done' })
  expect(await stateOf(waits.id)).toBe('pending')
  expect(await held(bob)).toBe(1)
})

it('gives a new one no place beside those that a peer has above what it takes', async () => {
  const { ask, takes, ada, bob, delegations } = await openBusy(3)
  const rows = [await ask(ada, bob), await ask(ada, bob), await ask(ada, bob)]
  await takes(1)
  await delegations.cancel(ada, rows[0]?.id ?? '')
  expect((await ask(ada, bob)).state).toBe('queued')
})

it('has those that wait come in the order in which they were given, and leaves out what is over meanwhile', async () => {
  const { ask, ada, bob, delegations, clock, take } = await openBusy(1)
  const first = await ask(ada, bob, { task: 'first' })
  const rows = []
  for (const task of ['a', 'b', 'c', 'd']) {
    await clock.advance(5)
    rows.push(await ask(ada, bob, { task, ...(task === 'c' && { deadlineSeconds: 1 }) }))
  }
  await delegations.cancel(ada, rows[0]?.id ?? '')
  await clock.advance(2_000)
  await delegations.sweep()
  const turns: string[] = []
  for (let id: string | undefined = first.id; id !== undefined; ) {
    await delegations.reply(bob, id, { message: 'done' })
    const [next] = await take(bob)
    if (next) turns.push(next.text)
    id = next?.delegationId ?? undefined
  }
  expect(turns).toEqual(['b', 'd'])
})

it('refuses an answer to one whose turn has not come, and keeps nothing of it', async () => {
  const { ask, ada, bob, delegations, stateOf, take } = await openBusy(1)
  await ask(ada, bob)
  const waits = await ask(ada, bob)
  for (const outcome of ['completed', 'in_progress'] as const)
    await expect(delegations.reply(bob, waits.id, { message: 'early', outcome })).rejects.toMatchObject({
      code: 'EDIT_CONFLICT',
    })
  expect(await stateOf(waits.id)).toBe('queued')
  expect(await take(ada)).toEqual([])
  await delegations.cancel(bob, waits.id)
  expect(await stateOf(waits.id)).toBe('failed')
})

it('refuses a circle through what still waits for its turn, and names the task', async () => {
  const { ask, workspaces, ada, bob } = await openBusy(1)
  const { cid } = await workspaces('cid')
  await ask(cid, bob)
  const waits = await ask(ada, bob)
  expect(waits.state).toBe('queued')
  const refusal = { code: 'DELEGATION_LOOP', details: { taskId: waits.id } }
  await expect(ask(bob, ada)).rejects.toMatchObject(refusal)
  // Also where the two ask each other at the same moment, and both have to wait.
  const both = await Promise.allSettled([ask(cid, ada), ask(ada, cid)])
  expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
})
