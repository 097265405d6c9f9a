import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../testing/fake-clock.ts'
import { createStepAside } from './step-aside.ts'

function up({ running }: { running: number }) {
  const clock = createFakeClock()
  const seen = { running, left: 0 }
  const stepAside = createStepAside({ clock, running: () => seen.running, leave: () => seen.left++ })
  return { clock, seen, stepAside }
}

describe('an up that steps aside', () => {
  it('leaves at once when nothing runs', () => {
    const { seen, stepAside } = up({ running: 0 })
    stepAside()
    expect(seen.left).toBe(1)
  })

  it('lets the calls end that run, and leaves after the last', async () => {
    const { clock, seen, stepAside } = up({ running: 2 })
    stepAside()
    await clock.advance(5_000)
    seen.running = 1
    await clock.advance(1_000)
    expect(seen.left).toBe(0)
    seen.running = 0
    await clock.advance(50)
    expect(seen.left).toBe(1)
  })

  it('waits ten seconds for them and no longer', async () => {
    const { clock, seen, stepAside } = up({ running: 1 })
    stepAside()
    await clock.advance(9_950)
    expect(seen.left).toBe(0)
    await clock.advance(50)
    expect(seen.left).toBe(1)
  })

  it('does so once, however many ask', async () => {
    const { clock, seen, stepAside } = up({ running: 1 })
    stepAside()
    await clock.advance(9_000)
    stepAside()
    await clock.advance(60_000)
    expect(seen.left).toBe(1)
  })
})
