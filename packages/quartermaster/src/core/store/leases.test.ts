import { describe, expect, it } from 'vitest'
import { silentLog } from '../../adapters/system/index.ts'
import { AppError } from '../../contracts/index.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { type SharedStorage, sharedStorages } from '../../testing/shared-storage.ts'
import type { Clock } from '../kernel/index.ts'
import { createLeases, type SharedTime, type Store } from './index.ts'

interface Situation {
  readonly store?: Store
  readonly folder?: string
  readonly time?: SharedTime
}

function leaseOf(clock: Clock, at: SharedStorage | undefined, { store, folder, time }: Situation = {}) {
  if (!at) throw new Error('There is no such process.')
  const self = { id: at.owner, host: `host-${at.owner}`, folder: folder ?? at.owner }
  const place = async () => ({ store: store ?? at.store, news: at.news, time, self })
  return createLeases({ clock, log: silentLog, leaseMs: 30_000, place }).of('upstream printer')
}

async function two() {
  const clock = createFakeClock()
  const [a, b] = await sharedStorages(['a', 'b'], { clock })
  return { clock, a, b }
}

const TAKEN_BY_A = { kind: 'taken', by: { holder: 'a', host: 'host-a' } }

describe('a lease', () => {
  it('is held by the first that wants it, and the other knows by whom', async () => {
    const { clock, a, b } = await two()
    const [first, second] = [leaseOf(clock, a), leaseOf(clock, b)]
    await first.acquire()
    await second.acquire()
    expect([first.status(), second.status()]).toEqual([{ kind: 'held' }, TAKEN_BY_A])
    await clock.advance(300_000)
    expect([first.status(), second.status()]).toEqual([{ kind: 'held' }, TAKEN_BY_A])
  })

  it('goes to one of those that want it at the same moment', async () => {
    const { clock, a, b } = await two()
    const leases = [leaseOf(clock, a), leaseOf(clock, b)]
    await Promise.all(leases.map(lease => lease.acquire()))
    await clock.advance(10)
    expect(leases.map(lease => lease.status().kind).toSorted()).toEqual(['held', 'taken'])
  })

  it('goes to the next at once when it is given back', async () => {
    const { clock, a, b } = await two()
    const [first, second] = [leaseOf(clock, a), leaseOf(clock, b)]
    await first.acquire()
    await second.acquire()
    await first.release()
    await clock.advance(0)
    expect(second.status()).toEqual({ kind: 'held' })
  })

  it('goes to the next within its time when its holder says nothing more', async () => {
    const { clock, a, b } = await two()
    const killed = createFakeClock(clock.now())
    const [first, second] = [leaseOf(killed, a), leaseOf(clock, b)]
    await first.acquire()
    await second.acquire()
    await clock.advance(29_999)
    expect(second.status()).toEqual(TAKEN_BY_A)
    await clock.advance(1)
    expect(second.status()).toEqual({ kind: 'held' })
  })

  it('goes at once to whoever has the data folder of one that is gone', async () => {
    const { clock, a, b } = await two()
    await leaseOf(createFakeClock(clock.now()), a, { folder: 'f' }).acquire()
    const after = leaseOf(clock, b, { folder: 'f' })
    await after.acquire()
    expect(after.status()).toEqual({ kind: 'held' })
  })

  it('is not taken by one that only looks, which sees it come and go', async () => {
    const { clock, a, b } = await two()
    const [first, second] = [leaseOf(clock, a), leaseOf(clock, b)]
    const seen: string[] = []
    second.onChange(() => seen.push(second.status().kind))
    await second.look()
    await first.acquire()
    await clock.advance(0)
    await first.release()
    await clock.advance(0)
    expect(seen).toEqual(['free', 'taken', 'free'])
  })

  it('is over for a holder that cannot say so before another one gets it', async () => {
    const { clock, a, b } = await two()
    let isCut = false
    const { store } = a as SharedStorage
    const cut: Store = {
      ...store,
      async get(...asked) {
        if (isCut) throw new AppError('STORE_UNAVAILABLE', 'It is away.')
        return store.get(...asked)
      },
    }
    const [first, second] = [leaseOf(clock, a, { store: cut }), leaseOf(clock, b)]
    await first.acquire()
    await second.acquire()
    isCut = true
    await clock.advance(20_000)
    expect([first.status().kind, second.status().kind]).toEqual(['unknown', 'taken'])
    await clock.advance(10_000)
    expect(second.status().kind).toBe('held')
    isCut = false
    await clock.advance(10_000)
    expect(first.status()).toMatchObject({ kind: 'taken', by: { holder: 'b' } })
  })

  it('is over for a holder that was stopped, before it gets to anything else', async () => {
    const { clock, a } = await two()
    let stoppedMs = 0
    const first = leaseOf({ ...clock, now: () => clock.now() + stoppedMs }, a)
    await first.acquire()
    expect(first.status()).toEqual({ kind: 'held' })
    // Its timers have not had their turn yet.
    stoppedMs = 20_000
    expect(first.status()).toEqual({ kind: 'unknown' })
    await first.acquire()
    expect(first.status()).toEqual({ kind: 'held' })
  })

  it('is not begun with by one that was stopped while it took it', async () => {
    const { clock, a } = await two()
    let stoppedMs = 0
    const slow: Store = {
      ...(a as SharedStorage).store,
      async commit(writes) {
        const outcome = await (a as SharedStorage).store.commit(writes)
        if (stoppedMs === 0) stoppedMs = 25_000
        return outcome
      },
    }
    const first = leaseOf({ ...clock, now: () => clock.now() + stoppedMs }, a, { store: slow })
    const seen: string[] = []
    first.onChange(() => seen.push(first.status().kind))
    await first.acquire()
    expect(seen).toEqual([])
    await clock.advance(1)
    expect(seen).toEqual(['held'])
  })

  it('is not taken from one that holds it by a process whose clock is ahead', async () => {
    const { clock, a, b } = await two()
    let aheadMs = 600_000
    const align = async () => {
      aheadMs = 0
    }
    const [first, second] = [
      leaseOf(clock, a),
      leaseOf({ ...clock, now: () => clock.now() + aheadMs }, b, { time: { align } }),
    ]
    await first.acquire()
    await second.acquire()
    expect([first.status(), second.status()]).toEqual([{ kind: 'held' }, TAKEN_BY_A])
  })

  it('goes from one to the next in a process without being given back, and is with the last of them', async () => {
    const { clock, a, b } = await two()
    const self = { id: 'a', host: 'here', folder: 'a' }
    const place = async () => a && { store: a.store, news: a.news, self }
    const leases = createLeases({ clock, log: silentLog, leaseMs: 30_000, place })
    const [old, replaced] = [leases.of('upstream printer'), leases.of('upstream printer')]
    await old.acquire()
    const seen: string[] = []
    replaced.onChange(() => seen.push(replaced.status().kind))
    const wanted = replaced.acquire()
    expect(replaced.status()).toEqual({ kind: 'inUse' })
    await old.release()
    await old.release()
    await wanted
    expect([replaced.status(), seen]).toEqual([{ kind: 'held' }, ['held']])
    expect(await b?.store.count('leases')).toBe(1)
    await replaced.release()
    expect(await b?.store.count('leases')).toBe(0)
  })

  it('is waited for no longer by one that gives its place away, and is not taken by it', async () => {
    const { clock, a } = await two()
    const place = async () => a && { store: a.store, news: a.news, self: { id: 'a', host: 'here', folder: 'a' } }
    const leases = createLeases({ clock, log: silentLog, leaseMs: 30_000, place })
    const [first, second, third] = [leases.of('printer'), leases.of('printer'), leases.of('printer')]
    const wanted = second.acquire()
    await second.release()
    await wanted
    await first.release()
    await clock.advance(0)
    expect([third.status().kind, await a?.store.count('leases')]).toEqual(['unknown', 0])
    await third.acquire()
    expect([second.status().kind, third.status().kind]).toEqual(['unknown', 'held'])
  })

  it('is always held where nobody shares the store', async () => {
    const alone = createLeases({
      clock: createFakeClock(),
      log: silentLog,
      leaseMs: 30_000,
      place: async () => undefined,
    })
    const lease = alone.of('upstream printer')
    await lease.acquire()
    expect(lease.status()).toEqual({ kind: 'held' })
  })
})
