import { describe, expect, it } from 'vitest'
import { createFakeClock, whileAdvancing } from '../../testing/fake-clock.ts'
import { createFirstMeetings } from './first-meetings.ts'
import { createListeners } from './listeners.ts'
import type { Upstream } from './upstream.ts'

/** Servers that nobody has seen and that are being started, each there after some time. */
function starting(comesInMs: Record<string, number>) {
  const clock = createFakeClock()
  const states = createListeners()
  const unseen = new Set(Object.keys(comesInMs))
  for (const [name, ms] of Object.entries(comesInMs))
    clock.after(ms, () => {
      unseen.delete(name)
      states.tell()
    })
  const one = (name: string) => ({ name, isUnseen: () => unseen.has(name), isStarting: () => true })
  const entries = [...unseen].map(name => [name, { ...one(name), mayBeDownloading: () => false }] as const)
  const { met } = createFirstMeetings({
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
