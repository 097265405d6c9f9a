import { describe, expect, it } from 'vitest'
import { createFakeClock, whileAdvancing } from '../../testing/fake-clock.ts'
import { createFirstConnects } from './first-connect.ts'
import { createListeners } from './listeners.ts'
import { pause } from './peer/abort.ts'
import type { Upstream } from './upstream.ts'

/** Servers that nobody has seen and that are being started, each there after some time, or failing then. */
function starting(comesInMs: Record<string, number>, failsInMs: Record<string, number> = {}) {
  const clock = createFakeClock()
  const states = createListeners()
  const unseen = new Set([...Object.keys(comesInMs), ...Object.keys(failsInMs)])
  const failed = new Set<string>()
  const at = (ms: number, change: () => void) =>
    clock.after(ms, () => {
      change()
      states.tell()
    })
  for (const [name, ms] of Object.entries(comesInMs)) at(ms, () => unseen.delete(name))
  for (const [name, ms] of Object.entries(failsInMs)) at(ms, () => failed.add(name))
  const one = (name: string) => ({ name, isUnseen: () => unseen.has(name), isStarting: () => !failed.has(name) })
  const entries = [...unseen].map(name => [name, { ...one(name), mayBeDownloading: () => false }] as const)
  const { met } = createFirstConnects({
    clock,
    mounted: new Map(entries) as unknown as ReadonlyMap<string, Upstream>,
    isUnread: () => false,
    areKept: () => false,
    adopted: async () => {},
    onState: states.add,
  })
  /** Those that are not there when it is not waited for them any more. */
  const leftAfter = async (withinMs: number, options: { graceMs?: number } = {}) => {
    await whileAdvancing(clock, met(withinMs, options), 100)
    return [...unseen]
  }
  return { leftAfter }
}

describe('whoever waits for all servers that nobody has seen', () => {
  it('waits for each that comes soon after another', async () => {
    const { leftAfter } = starting({ one: 2_000, two: 4_000, three: 6_000 })
    expect(await leftAfter(10_000, { graceMs: 3_000 })).toEqual([])
  })

  it('waits for none that comes long after the others, which may as well hang', async () => {
    const { leftAfter } = starting({ one: 1_000, late: 6_000 })
    expect(await leftAfter(10_000, { graceMs: 3_000 })).toEqual(['late'])
  })

  it('gives all of the time before the first has come, so that one that is slow is not left for ever', async () => {
    const { leftAfter } = starting({ slow: 5_000 })
    expect(await leftAfter(10_000, { graceMs: 3_000 })).toEqual([])
  })

  it('waits as long beside one that fails, which it does with every command anew', async () => {
    const { leftAfter } = starting({ slow: 9_000 }, { ill: 500 })
    expect(await leftAfter(10_000, { graceMs: 3_000 })).toEqual(['ill'])
  })

  it('waits for nobody longer than all of the time', async () => {
    const many = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`server${i}`, (i + 1) * 2_000]))
    const { leftAfter } = starting(many)
    expect(await leftAfter(10_000, { graceMs: 3_000 })).toContain('server5')
  })

  it('waits for all of the time where there is no grace', async () => {
    const { leftAfter } = starting({ one: 1_000, slow: 9_000 })
    expect(await leftAfter(10_000)).toEqual([])
  })
})

/** A server that is kept, that nobody has ever seen, and that stands so whatever is asked of it. */
function standing(state: 'starting' | 'down', nextStartAt?: number) {
  const clock = createFakeClock()
  const ends: string[] = []
  const one: Partial<Upstream> = {
    isUnseen: () => true,
    start: () => {},
    status: () => ({ state, nextStartAt }) as ReturnType<Upstream['status']>,
    async comeUp({ withinMs, signal }) {
      await pause(withinMs, { clock, signal })
      ends.push(signal.aborted ? 'given up' : 'waited for')
    },
  }
  const { meetNow } = createFirstConnects({
    clock,
    mounted: new Map([['ill', one as Upstream]]),
    isUnread: () => false,
    areKept: () => true,
    adopted: async () => {},
    onState: createListeners().add,
  })
  const called = async () => {
    await whileAdvancing(clock, meetNow('ill', 10_000))
    return ends
  }
  return { called }
}

describe('a call of what may be a tool of a server that nobody has seen', () => {
  it('does not wait for one that has been failing for long and was tried a moment ago', async () => {
    expect(await standing('down', 5_000).called()).toEqual(['given up'])
  })

  it('waits for one that is being tried just now, however long it has been failing', async () => {
    expect(await standing('down').called()).toEqual(['waited for'])
    expect(await standing('starting').called()).toEqual(['waited for'])
  })
})
