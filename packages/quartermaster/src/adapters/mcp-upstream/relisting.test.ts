import { expect, it } from 'vitest'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createRelisting } from './relisting.ts'

function stage({ changed = false, tookMs = 1 } = {}) {
  const clock = createFakeClock()
  const server = { changed, lists: 0 }
  const relisting = createRelisting({
    clock,
    async list() {
      server.lists++
      relisting.listed({ changed: server.changed, tookMs })
    },
  })
  return { clock, server, relisting }
}

/** A server that tells of a change all the time. */
async function tell({ clock, relisting }: ReturnType<typeof stage>, seconds: number): Promise<void> {
  for (let moment = 0; moment < seconds * 10; moment++) {
    relisting.soon()
    await clock.advance(100)
  }
}

it('asks at once, and then no more often than every second, however often it is told of changes', async () => {
  const here = stage()
  here.relisting.soon()
  await here.clock.advance(1)
  expect(here.server.lists).toBe(1)
  await tell(here, 10)
  expect(here.server.lists).toBeLessThanOrEqual(11)
})

it('asks a server ever less often that is never the same, and as before when it has come to rest', async () => {
  const here = stage({ changed: true })
  await tell(here, 120)
  expect(here.server.lists).toBeLessThan(12)
  here.server.changed = false
  await tell(here, 70)
  const before = here.server.lists
  await tell(here, 10)
  expect(here.server.lists - before).toBeGreaterThanOrEqual(9)
})

it('spends only a small part of the time on one that is long to look at', async () => {
  const here = stage({ tookMs: 1_000 })
  await tell(here, 100)
  expect(here.server.lists).toBeLessThan(8)
})

it('asks every now and then, and not after its end', async () => {
  const { clock, server, relisting } = stage()
  relisting.later(60_000)
  await clock.advance(60_001)
  expect(server.lists).toBe(1)
  relisting.later(60_000)
  relisting.stop()
  await clock.advance(120_000)
  expect(server.lists).toBe(1)
})
