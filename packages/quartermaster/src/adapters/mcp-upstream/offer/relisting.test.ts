import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createRefreshTimer } from './list-definitions.ts'

function stage({ changed = false, tookMs = 1 } = {}) {
  const clock = createFakeClock()
  const server = { changed, lists: 0 }
  const refreshTimer = createRefreshTimer({
    clock,
    async list() {
      server.lists++
      refreshTimer.listed({ changed: server.changed, tookMs })
    },
  })
  return { clock, server, refreshTimer }
}

/** A server that tells of a change all the time. */
async function tell({ clock, refreshTimer }: ReturnType<typeof stage>, seconds: number): Promise<void> {
  for (let moment = 0; moment < seconds * 10; moment++) {
    refreshTimer.soon()
    await clock.advance(100)
  }
}

it('asks at once, and again as soon as it is told of the next change', async () => {
  const here = stage({ changed: true, tookMs: 200 })
  for (const times of [1, 2, 3, 4, 5]) {
    here.refreshTimer.soon()
    await here.clock.advance(101)
    expect(here.server.lists).toBe(times)
  }
})

it('asks no more often than every second, however long it is told of changes', async () => {
  const here = stage()
  await tell(here, 300)
  const before = here.server.lists
  await tell(here, 60)
  expect(here.server.lists - before).toBeLessThanOrEqual(61)
})

it('asks a server less often that is never the same, and as before when it has come to rest', async () => {
  const here = stage({ changed: true })
  await tell(here, 120)
  expect(here.server.lists).toBeLessThanOrEqual(31)
  here.server.changed = false
  await here.clock.advance(60_000)
  const before = here.server.lists
  await tell(here, 10)
  expect(here.server.lists - before).toBeGreaterThanOrEqual(10)
})

it('spends only a small part of the time on one that is long to look at', async () => {
  const here = stage({ tookMs: 1_000 })
  await tell(here, 200)
  expect(here.server.lists).toBeLessThanOrEqual(14)
})

it('asks once more for all that it was told of while it was asking', async () => {
  const clock = createFakeClock()
  const asked: (() => void)[] = []
  const refreshTimer = createRefreshTimer({
    clock,
    async list() {
      await new Promise<void>(resolve => void asked.push(resolve))
      refreshTimer.listed({ changed: false, tookMs: 1 })
    },
  })
  for (let notice = 0; notice < 100; notice++) {
    refreshTimer.soon()
    await clock.advance(100)
  }
  expect(asked).toHaveLength(1)
  asked[0]?.()
  await clock.advance(100)
  expect(asked).toHaveLength(2)
  asked[1]?.()
  await clock.advance(60_000)
  expect(asked).toHaveLength(2)
})

it('asks every now and then where it is needed, and not after its end', async () => {
  const { clock, server, refreshTimer } = stage()
  let isNeeded = false
  refreshTimer.later(60_000, () => isNeeded)
  await clock.advance(60_001)
  expect(server.lists).toBe(0)
  isNeeded = true
  await clock.advance(60_000)
  expect(server.lists).toBe(1)
  refreshTimer.later(60_000, () => isNeeded)
  refreshTimer.stop()
  await clock.advance(120_000)
  expect(server.lists).toBe(1)
})

it('asks once it can what it was told to, unless it was asked meanwhile for another reason', async () => {
  const clock = createFakeClock()
  const server = { isUp: false, lists: 0 }
  const refreshTimer = createRefreshTimer({
    clock,
    async list() {
      if (server.isUp) server.lists++
    },
  })
  refreshTimer.soon()
  await clock.advance(1_000)
  server.isUp = true
  refreshTimer.begun()
  refreshTimer.up()
  await clock.advance(1_000)
  expect(server.lists).toBe(0)
  server.isUp = false
  refreshTimer.soon()
  await clock.advance(1_000)
  server.isUp = true
  refreshTimer.up()
  await clock.advance(1_000)
  expect(server.lists).toBe(1)
})
