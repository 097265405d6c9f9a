import { describe, expect, it } from 'vitest'
import { silentLog } from '../../adapters/system/index.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createMemoryStore } from '../../testing/memory-store.ts'
import { sharedStorages } from '../../testing/shared-storage.ts'
import { createNodes } from './index.ts'

const NO_NEWS = { listen: () => () => {}, isHeard: () => true }

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
    expect([first?.nodes.isAlone(), first?.nodes.isEldest(), second?.nodes.isEldest()]).toEqual([false, true, false])
    await first?.nodes.leave()
    await clock.advance(0)
    expect([second?.nodes.isAlone(), second?.nodes.isEldest()]).toEqual([true, true])
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
    expect([await names(lives), lives.isAlone(), gone]).toEqual([['a'], true, 1])
    await lives.forgetGone()
    expect(await store.count('nodes')).toBe(1)
  })

  it('know that whoever had the same data folder before is gone, at once', async () => {
    const [store, clock] = [createMemoryStore(), createFakeClock()]
    await node('before', { folder: 'f' })(store, clock).join()
    const after = node('after', { folder: 'f' })(store, clock)
    await after.join()
    expect([await names(after), after.isAlone()]).toEqual([['after'], true])
  })

  it('are there again when they were thought to be gone and forgotten', async () => {
    const [store, clock] = [createMemoryStore(), createFakeClock()]
    const slept = node('a')(store, clock)
    await slept.join()
    await store.commit([{ kind: 'delete', table: 'nodes', where: { id: 'a' } }])
    await clock.advance(10_000)
    expect(await names(slept)).toEqual(['a'])
  })
})
