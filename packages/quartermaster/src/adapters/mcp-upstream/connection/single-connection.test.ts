import { describe, expect, it } from 'vitest'
import type { Lease, LeaseStatus } from '../../../core/store/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { createFakeClock, whileAdvancing } from '../../../testing/fake-clock.ts'
import type { Session } from '../peer/session.ts'
import type { Connection } from './connection.ts'
import { createSlowStart } from './retry-slow-start.ts'
import { createSingleConnection } from './single-connection.ts'

const SESSION = {} as Session
const SIGNAL = new AbortController().signal

/** A lease that a test gives and takes, and servers that take their time to end. */
function situation() {
  const clock = createFakeClock()
  let standing: LeaseStatus = { kind: 'held' }
  let tell = () => {}
  const lease: Lease = {
    // Whoever has it in this process keeps it.
    want: () => (standing.kind === 'inUse' ? new Promise(() => {}) : Promise.resolve()),
    look: async () => {},
    standing: () => standing,
    onChange(listener) {
      tell = listener
      return () => {}
    },
    release: async () => {},
  }
  const running = new Set<number>()
  const servers: { end(): void; finish(): void }[] = []
  /** How long each of them that was taken may be waited for. */
  const budgets: number[] = []
  const create = (): Connection => {
    const [number, ended, finished] = [servers.length, deferred(), deferred()]
    servers.push({ end: ended.resolve, finish: finished.resolve })
    return {
      concerned: { dependency: 'printer' },
      target: {},
      slowStart: createSlowStart(),
      state: () => ({ kind: 'up', reason: '', since: 0 }),
      session: () => SESSION,
      isAwaited: () => false,
      restarts: () => 0,
      lastError: () => undefined,
      announce() {},
      start: () => void running.add(number),
      takeNow() {
        running.add(number)
        return SESSION
      },
      async take({ budgetMs }) {
        running.add(number)
        budgets.push(budgetMs)
        return SESSION
      },
      look: async () => ({ up: true }),
      suspect: async () => {},
      refused() {},
      failed: async () => {},
      answered() {},
      restart: async () => {},
      busy: () => 0,
      async leave() {
        await Promise.race([finished.promise, ended.promise])
        running.delete(number)
      },
      async stop() {
        await ended.promise
        running.delete(number)
      },
    } as Connection
  }
  const stand = (kind: 'held' | 'inUse' | 'unknown') => {
    standing = { kind }
    tell()
  }
  const single = createSingleConnection({
    lease,
    clock,
    dependency: 'printer',
    target: {},
    create,
    onChange: () => {},
  })
  const end = (number: number) => servers[number]?.end()
  /** It has answered all that was under way. */
  const finish = (number: number) => servers[number]?.finish()
  return { clock, single, stand, running: () => [...running], end, finish, budgets }
}

describe('a server that runs once', () => {
  it('is started anew only when the one before has ended, however soon the lease is back', async () => {
    const { clock, single, stand, running, end } = situation()
    single.start()
    stand('unknown')
    stand('held')
    expect([running(), single.state().kind]).toEqual([[0], 'starting'])
    const taken = single.take({ budgetMs: 10_000, signal: SIGNAL })
    await clock.advance(1_000)
    expect(running()).toEqual([0])
    end(0)
    expect(await taken).toBe(SESSION)
    expect(running()).toEqual([1])
  })

  it('stands as one that is being started when it is to be soon, and is not started by the lease alone', () => {
    const { single, stand, running } = situation()
    stand('unknown')
    single.announce()
    expect(single.state()).toMatchObject({ kind: 'starting', reason: 'It is about to be started.' })
    stand('held')
    expect(running()).toEqual([])
    single.start()
    expect(running()).toEqual([0])
  })

  it('is waited for no longer than the caller has', async () => {
    const { clock, single, stand } = situation()
    single.start()
    stand('unknown')
    stand('held')
    const taken = single.take({ budgetMs: 10_000, signal: SIGNAL })
    await expect(whileAdvancing(clock, taken)).rejects.toMatchObject({
      code: 'DEPENDENCY_UNAVAILABLE',
      message: expect.stringContaining('"printer" cannot be reached'),
    })
  })

  it('is waited for, once it may be started, for as long as the caller has left', async () => {
    const { clock, single, stand, end, budgets } = situation()
    await single.take({ budgetMs: 10_000, signal: SIGNAL })
    stand('unknown')
    stand('held')
    const taken = single.take({ budgetMs: 10_000, signal: SIGNAL })
    await clock.advance(9_000)
    end(0)
    await taken
    expect(budgets).toEqual([10_000, 1_000])
  })

  it.each(['leave', 'stop'] as const)('is waited for by nobody any more once it is given up (%s)', async giveUp => {
    const { single, stand } = situation()
    stand('inUse')
    const taken = single.take({ budgetMs: 10_000, signal: SIGNAL })
    void single[giveUp]('Its entry was changed.')
    await expect(taken).rejects.toMatchObject({
      code: 'DEPENDENCY_UNAVAILABLE',
      message: '"printer" cannot be reached: Its entry was changed.',
    })
  })

  it('ends what is under way when it is left, however long that takes', async () => {
    const { clock, single, running, finish } = situation()
    single.start()
    const left = single.leave('Its entry was changed.')
    await clock.advance(600_000)
    expect(running()).toEqual([0])
    finish(0)
    await left
    expect(running()).toEqual([])
  })

  it('ends at once when it is left and the lease is lost', async () => {
    const { single, stand, running, end } = situation()
    single.start()
    const left = single.leave('Its entry was changed.')
    stand('unknown')
    end(0)
    await left
    expect(running()).toEqual([])
  })

  it('says that it waits for the one before, to people and to whoever calls it', async () => {
    const { clock, single, stand } = situation()
    stand('inUse')
    const reason = 'It runs once, and starts when the calls of the one before have ended.'
    const taken = single.take({ budgetMs: 10_000, signal: SIGNAL })
    await expect(whileAdvancing(clock, taken)).rejects.toMatchObject({ message: expect.stringContaining(reason) })
    single.start()
    expect(single.state()).toMatchObject({ kind: 'starting', reason })
  })
})
