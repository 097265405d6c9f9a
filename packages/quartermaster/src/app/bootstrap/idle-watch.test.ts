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
  it('tells once, when nobody was there for the whole time', async () => {
    const { clock, seen } = watched()
    await clock.advance(59_999)
    expect(seen.idle).toBe(0)
    await clock.advance(600_000)
    expect(seen.idle).toBe(1)
  })

  it('waits for as long as someone is there, and then the whole time again', async () => {
    const { clock, seen } = watched()
    seen.busy = true
    await clock.advance(600_000)
    seen.busy = false
    await clock.advance(45_000)
    expect(seen.idle).toBe(0)
    await clock.advance(15_000)
    expect(seen.idle).toBe(1)
  })

  it('counts from the last short visit', async () => {
    const { clock, seen, watch } = watched()
    await clock.advance(50_000)
    watch.touch()
    await clock.advance(59_000)
    expect(seen.idle).toBe(0)
    await clock.advance(16_000)
    expect(seen.idle).toBe(1)
  })

  it('tells nothing any more once it is stopped', async () => {
    const { clock, seen, watch } = watched()
    watch.stop()
    await clock.advance(600_000)
    expect(seen.idle).toBe(0)
  })
})
