import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createIdleWatch } from './open-front.ts'

function watched() {
  const clock = createFakeClock()
  const seen = { busy: false, idle: 0 }
  const watch = createIdleWatch({ clock, idleMs: 60_000, isBusy: () => seen.busy, onIdle: () => seen.idle++ })
  return { clock, seen, watch }
}

describe('an idle watch', () => {
  it('waits while a client is connected, and then the whole time again, and reports once', async () => {
    const { clock, seen } = watched()
    seen.busy = true
    await clock.advance(600_000)
    seen.busy = false
    await clock.advance(45_000)
    expect(seen.idle).toBe(0)
    await clock.advance(600_000)
    expect(seen.idle).toBe(1)
  })

  it('counts from the last short request', async () => {
    const { clock, seen, watch } = watched()
    await clock.advance(50_000)
    watch.touch()
    await clock.advance(59_000)
    expect(seen.idle).toBe(0)
    await clock.advance(16_000)
    expect(seen.idle).toBe(1)
  })
})
