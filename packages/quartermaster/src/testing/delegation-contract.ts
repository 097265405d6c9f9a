import { expect, it } from 'vitest'
import type { Store } from '../core/store/index.ts'
import { openDelegations } from './delegation-desk.ts'

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
}
