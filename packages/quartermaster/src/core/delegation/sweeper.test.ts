import { expect, it } from 'vitest'
import { openDelegations } from '../../testing/delegation-fixture.ts'

it('ends what is due and hands on what waits, also when one of them cannot be ended now', async () => {
  const { workspaces, ask, store, another, stateOf, clock } = await openDelegations()
  const { ada, bob, cid } = await workspaces('ada', 'bob', 'cid')
  await store.commit([{ kind: 'update', table: 'workspaces', where: { id: cid.id }, set: { capacity: 1 } }])
  const stuck = await ask(ada, bob, { deadlineSeconds: 1 })
  const due = await ask(ada, bob, { deadlineSeconds: 2 })
  await ask(ada, cid)
  const waits = await ask(ada, cid)
  await store.commit([{ kind: 'update', table: 'workspaces', where: { id: cid.id }, set: { capacity: 2 } }])
  const commit: typeof store.commit = async writes => {
    if (JSON.stringify(writes).includes(stuck.id)) throw new Error('the disk has a hole there')
    return store.commit(writes)
  }
  await clock.advance(5_000)
  const { delegations } = another(undefined, { ...store, commit })
  await expect(delegations.sweep()).rejects.toThrow('the disk has a hole there')
  expect(await Promise.all([stuck, due, waits].map(({ id }) => stateOf(id)))).toEqual(['pending', 'expired', 'pending'])
})

it('looks at everything once at a time, however much is asked for meanwhile', async () => {
  const { workspaces, store, another, clock } = await openDelegations()
  const { ada, bob } = await workspaces('ada', 'bob')
  const seen = { now: 0, most: 0 }
  const find: typeof store.find = async (table, query) => {
    const isSweep = table === 'delegations' && JSON.stringify(query.where).includes('atMost')
    if (!isSweep) return store.find(table, query)
    seen.most = Math.max(seen.most, ++seen.now)
    for (let turn = 0; turn < 20; turn++) await clock.breathe()
    seen.now--
    return store.find(table, query)
  }
  const { delegations } = another(undefined, { ...store, find })
  delegations.start()
  for (let i = 0; i < 3; i++) {
    await delegations.delegate(ada, { to: bob.id, task: 'soon', deadlineSeconds: 1 })
    await clock.advance(1_100)
  }
  await delegations.stop()
  expect(seen.most).toBe(1)
})
