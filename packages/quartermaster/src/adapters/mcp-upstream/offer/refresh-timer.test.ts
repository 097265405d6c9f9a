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
      refreshTimer.onListed({ changed: server.changed, tookMs })
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
it('asks once more for all that it was told of while it was asking', async () => {
  const clock = createFakeClock()
  const asked: (() => void)[] = []
  const refreshTimer = createRefreshTimer({
    clock,
    async list() {
      await new Promise<void>(resolve => void asked.push(resolve))
      refreshTimer.onListed({ changed: false, tookMs: 1 })
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
