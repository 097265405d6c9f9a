import { expect, it } from 'vitest'
import { silentLog } from '../adapters/system/index.ts'
import { createActivityPruner } from '../core/messages/index.ts'
import type { Store } from '../core/store/index.ts'
import { openDelegations } from './delegation-fixture.ts'

/** What delegations promise over a database that several processes share. */
export function delegationContract(name: string, open: () => Store | Promise<Store>): void {
  it(`keeps to the capacity and one end each on ${name}, when two processes do everything at once`, async () => {
    const store = await open()
    const { workspaces, delegations, another, take, clock } = await openDelegations({ store })
    const { ada, bob } = await workspaces('ada', 'bob')
    await store.commit([{ kind: 'update', table: 'workspaces', where: { id: bob.id }, set: { capacity: 3 } }])
    const both = [delegations, another().delegations]
    const wish = (i: number) => ({ to: bob.id, task: `t${i}`, deadlineSeconds: 60, idempotencyKey: `k${i}` })
    const asked = Array.from({ length: 16 }, (_, i) => both[i % 2]?.delegate(ada, wish(i >> 1)))
    const ids = new Set((await Promise.all(asked)).map(one => one?.row.id))
    expect(ids.size).toBe(8)
    expect(await store.count('delegations', { state: 'pending' })).toBe(3)

    const [first, second] = await take(bob)
    const ends = await Promise.allSettled(
      both.map((one, i) => one.reply(bob, first?.delegationId ?? '', { message: `by ${i}` })),
    )
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    await Promise.all(both.map(one => one.reply(bob, second?.delegationId ?? '', { message: 'the same' })))
    expect(await store.count('delegations', { state: { in: ['pending', 'in_progress'] } })).toBe(3)
    expect(await store.count('inbox', { workspaceId: ada.id })).toBe(2)

    await clock.advance(61_000)
    await Promise.all(both.map(one => one.sweep()))
    expect(await store.count('delegations', { state: 'expired' })).toBe(6)
    expect(await store.count('inbox', { workspaceId: ada.id })).toBe(8)
    expect(await store.count('inbox', { workspaceId: bob.id })).toBeLessThanOrEqual(3)
  })
  it(`keeps the messages of a task on ${name} until it is over, however short logs are kept`, async () => {
    const store = await open()
    const settings = { activityDays: 1 }
    const { workspaces, delegations, messages, ask, take, clock } = await openDelegations({ store, settings })
    const { eve, fay } = await workspaces('eve', 'fay')
    const { id } = await ask(eve, fay, { deadlineSeconds: 20 * 86_400 })
    const [task] = await take(fay)
    const activityId = task?.id ?? ''
    await messages.inbox.pop(fay, activityId)
    for (const text of ['beside it', 'last']) {
      const { messageId } = await messages.sending.toPeer(eve, fay.id, { text })
      await messages.inbox.pop(fay, `${messageId}_in`)
    }
    const pruner = createActivityPruner({ store, clock, log: silentLog, settings })
    const kept = async () => {
      await pruner.prune()
      const where = { workspaceId: fay.id, direction: 'in' } as const
      const rows = await store.find('activity', { where, order: { by: ['sequence'] } })
      return rows.map(({ text }) => text)
    }
    await clock.advance(10 * 86_400_000)
    expect(await kept()).toEqual(['count the boxes', 'last'])
    await messages.sending.reply(fay, activityId, { text: 'seven' })
    expect((await delegations.expect(eve, id)).state).toBe('completed')
    await clock.advance(2 * 86_400_000)
    expect(await kept()).toEqual([])
  })
  it(`hands a task on ${name} out again that was taken out of the inbox and lost, so that its place is not`, async () => {
    const store = await open()
    const settings = { delegationQuietSeconds: 600 }
    const { workspaces, delegations, another, messages, ask, clock, stateOf } = await openDelegations({
      store,
      settings,
    })
    const { gil, hal } = await workspaces('gil', 'hal')
    await store.commit([{ kind: 'update', table: 'workspaces', where: { id: hal.id }, set: { capacity: 1 } }])
    const inHand = async (reader: string) =>
      (await messages.inbox.take({ workspace: hal, reader, limit: 9 })).rows.map(({ text }) => text)
    const taken = await ask(gil, hal, { task: 'first' })
    const waits = await ask(gil, hal, { task: 'second' })
    expect(await inHand('dies')).toEqual(['first'])
    await messages.inbox.pop(hal, taken.activityId)
    await clock.advance(400_000)
    await delegations.reply(hal, taken.id, { message: 'I am at it.', outcome: 'in_progress' })
    await clock.advance(400_000)
    await delegations.sweep()
    expect(await inHand('next')).toEqual([])
    await clock.advance(250_000)
    await Promise.all([delegations, another().delegations].map(one => one.sweep()))
    expect(await inHand('next')).toEqual(['first'])
    expect([await stateOf(taken.id), await stateOf(waits.id)]).toEqual(['in_progress', 'queued'])
    await messages.sending.reply(hal, taken.activityId, { text: 'done' })
    expect(await inHand('next')).toEqual(['second'])
  })
}
