import { describe, expect, it } from 'vitest'
import { createFakeClock, whileAdvancing } from '../../testing/fake-clock.ts'
import { createFirstConnects } from './first-connect.ts'
import { createListeners } from './listeners.ts'
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
  it('waits for none that comes long after the others, which may as well hang', async () => {
    const { leftAfter } = starting({ one: 1_000, late: 6_000 })
    expect(await leftAfter(10_000, { graceMs: 3_000 })).toEqual(['late'])
  })
})
