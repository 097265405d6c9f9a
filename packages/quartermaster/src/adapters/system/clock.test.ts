import { describe, expect, it } from 'vitest'
import { createSystemClock } from './index.ts'

/** A machine that was started at this time. */
function machine() {
  const time = { wall: 1_700_000_000_000, counted: 1_700_000_000_000 }
  const clock = createSystemClock({ wall: () => time.wall, counted: () => time.counted })
  const sleep = (ms: number) => void (time.wall += ms)
  const run = (ms: number) => {
    time.counted += ms
    time.wall += ms
  }
  return { clock, sleep, run, setBack: (ms: number) => void (time.wall -= ms) }
}

describe("the machine's time", () => {
  it('goes on while the machine sleeps', () => {
    const { clock, sleep, run } = machine()
    run(1_000)
    expect(clock.now()).toBe(1_700_000_001_000)
    sleep(28_800_000)
    expect(clock.now()).toBe(1_700_028_801_000)
    run(5_000)
    expect(clock.now()).toBe(1_700_028_806_000)
  })

  it('never goes back, whoever sets the clock', () => {
    const { clock, sleep, run, setBack } = machine()
    sleep(60_000)
    expect(clock.now()).toBe(1_700_000_060_000)
    setBack(3_600_000)
    expect(clock.now()).toBe(1_700_000_060_000)
    run(1_000)
    expect(clock.now()).toBe(1_700_000_061_000)
  })

  it('does not follow small corrections', () => {
    const { clock, sleep } = machine()
    sleep(2_000)
    expect(clock.now()).toBe(1_700_000_000_000)
  })
})
