import { describe, expect, it } from 'vitest'
import { silentLog } from '../../adapters/system/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createMemoryStore } from '../../testing/memory-store.ts'
import { sharedStorages } from '../../testing/shared-storage.ts'
import { createNodes, insert, update } from './index.ts'

const NO_NEWS = { listen: () => () => {}, isConnected: () => true }

function node(id: string, more: { folder?: string } = {}) {
  const self = { id, host: 'here', folder: id, version: '0.0.0', ...more }
  return (store = createMemoryStore(), clock = createFakeClock(), onGone?: () => void) =>
    createNodes({ store, clock, log: silentLog, self, leaseMs: 30_000, news: NO_NEWS, onGone })
}

const names = async (nodes: ReturnType<ReturnType<typeof node>>) => (await nodes.running()).map(({ id }) => id)

describe('the processes that share a store', () => {
  it('know of each other as they come and go', async () => {
    const clock = createFakeClock()
    const [first, second] = await sharedStorages(['a', 'b'], { clock })
    expect([first?.nodes.isAlone(), first?.nodes.isOldest(), second?.nodes.isOldest()]).toEqual([false, true, false])
    await first?.nodes.leave()
    await clock.advance(0)
    expect([second?.nodes.isAlone(), second?.nodes.isOldest()]).toEqual([true, true])
  })

  it('count as running for as long as they say so, and as gone a lease later', async () => {
    const [store, clock] = [createMemoryStore(), createFakeClock()]
    let gone = 0
    const lives = node('a')(store, clock, () => gone++)
    await lives.join()
    // One that is killed says nothing more.
    const killed = node('b')(store, createFakeClock())
    await killed.join()
    await lives.look()
    expect(await names(lives)).toEqual(['a', 'b'])
    await clock.advance(29_999)
    expect([await names(lives), gone]).toEqual([['a', 'b'], 0])
    await clock.advance(10_001)
    expect([await names(lives), lives.isAlone(), gone > 0]).toEqual([['a'], true, true])
    await lives.removeGone(clock.now())
    expect(await store.count('nodes')).toBe(1)
  })

  it('know that whoever had the same data folder before is gone, at once', async () => {
    const [store, clock] = [createMemoryStore(), createFakeClock()]
    await node('before', { folder: 'f' })(store, clock).join()
    const after = node('after', { folder: 'f' })(store, clock)
    await after.join()
    expect([await names(after), after.isAlone()]).toEqual([['after'], true])
  })

  it('are judged by the time of the store, and not by a clock that is ahead', async () => {
    const [store, clock] = [createMemoryStore(), createFakeClock()]
    await node('a')(store, clock).join()
    let [aheadMs, gone] = [0, 0]
    const self = { id: 'b', host: 'here', folder: 'b', version: '0.0.0' }
    const time = {
      async align() {
        aheadMs = 0
      },
    }
    const wrong = { ...clock, now: () => clock.now() + aheadMs }
    const onGone = () => void gone++
    const b = createNodes({ store, clock: wrong, log: silentLog, self, leaseMs: 30_000, news: NO_NEWS, time, onGone })
    await b.join()
    aheadMs = 600_000
    await b.look()
    aheadMs = 600_000
    expect([await names(b), b.isAlone(), gone]).toEqual([['a', 'b'], false, 0])
  })

  it('are there again when they were thought to be gone and forgotten', async () => {
    const [store, clock] = [createMemoryStore(), createFakeClock()]
    const slept = node('a')(store, clock)
    await slept.join()
    await store.commit([{ kind: 'delete', table: 'nodes', where: { id: 'a' } }])
    await clock.advance(10_000)
    expect(await names(slept)).toEqual(['a'])
  })

  it('are told of one that is gone for as long as nobody has settled what it had', async () => {
    const [store, clock] = [createMemoryStore(), createFakeClock()]
    let told = 0
    const lives = node('a')(store, clock, () => told++)
    await lives.join()
    await node('killed')(store, createFakeClock()).join()
    await clock.advance(40_000)
    expect(told).toBeGreaterThan(0)
    // The store was away as it was to be settled: the next look says so once more.
    const before = told
    await clock.advance(10_000)
    expect(told).toBe(before + 1)
    await lives.removeGone(clock.now())
    await clock.advance(20_000)
    expect(told).toBe(before + 1)
  })

  it('are forgotten only if they were gone when what they had was settled', async () => {
    const [store, clock] = [createMemoryStore(), createFakeClock()]
    const lives = node('a')(store, clock)
    await lives.join()
    await node('killed')(store, createFakeClock()).join()
    await clock.advance(29_000)
    const settledAt = clock.now()
    await clock.advance(2_000)
    await lives.removeGone(settledAt)
    expect(await store.count('nodes')).toBe(2)
  })

  it('are known as they were read last, however long an earlier look takes', async () => {
    const [store, clock] = [createMemoryStore(), createFakeClock()]
    const slow = deferred<void>()
    const { find } = store
    const first = node('a')(store, clock)
    await first.join()
    let looks = 0
    const slowly = async (...args: Parameters<typeof find>) => {
      const rows = await find(...args)
      if (++looks === 1) await slow.promise
      return rows
    }
    Object.assign(store, { find: slowly })
    const early = first.look()
    await clock.breathe()
    await store.commit([insert('nodes', { ...(await rowOf(store, 'a')), id: 'b', folder: 'b' })])
    const late = first.look()
    await clock.breathe()
    slow.resolve()
    await Promise.all([early, late])
    expect(first.isAlone()).toBe(false)
  })

  it('count themselves as running, however long they were asleep', async () => {
    const [store, clock] = [createMemoryStore(), createFakeClock()]
    const slept = node('a')(store, clock)
    await slept.join()
    await store.commit([update('nodes', { where: { id: 'a' }, set: { leaseUntil: 0 } })])
    expect(await names(slept)).toEqual(['a'])
  })
})

async function rowOf(store: ReturnType<typeof createMemoryStore>, id: string) {
  const row = await store.get('nodes', id)
  if (!row) throw new Error(`There is no node ${id}.`)
  return row
}
