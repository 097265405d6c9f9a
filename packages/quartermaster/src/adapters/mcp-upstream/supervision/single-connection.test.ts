import { describe, expect, it } from 'vitest'
import type { Lease, LeaseStanding } from '../../../core/store/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { createFakeClock, whileAdvancing } from '../../../testing/fake-clock.ts'
import type { Session } from '../session/session.ts'
import type { Connection } from './connection.ts'
import { createSingleConnection } from './single-connection.ts'

const SESSION = {} as Session
const SIGNAL = new AbortController().signal

/** A lease that a test gives and takes, and servers that take their time to end. */
function situation() {
  const clock = createFakeClock()
  let standing: LeaseStanding = { kind: 'held' }
  let tell = () => {}
  const lease: Lease = {
    want: async () => {},
    look: async () => {},
    standing: () => standing,
    onChange(listener) {
      tell = listener
      return () => {}
    },
    release: async () => {},
  }
  const running = new Set<number>()
  const servers: { end(): void }[] = []
  const create = (): Connection => {
    const [number, ended] = [servers.length, deferred()]
    servers.push({ end: ended.resolve })
    return {
      concerned: { dependency: 'printer' },
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
      async take() {
        running.add(number)
        return SESSION
      },
      look: async () => ({ up: true }),
      suspect: async () => {},
      refused() {},
      answered() {},
      restart: async () => {},
      busy: () => 0,
      leave: async () => {},
      async stop() {
        await ended.promise
        running.delete(number)
      },
    } as Connection
  }
  const stand = (kind: 'held' | 'unknown') => {
    standing = { kind }
    tell()
  }
  const single = createSingleConnection({ lease, clock, dependency: 'printer', create, onChange: () => {} })
  return { clock, single, stand, running: () => [...running], end: (number: number) => servers[number]?.end() }
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
})
