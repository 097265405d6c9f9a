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

/** One that goes by the time of a store, which is not that of the machine. */
function following() {
  const at = machine()
  let asked = 0
  at.clock.setTo(1_600_000_000_000)
  at.clock.onDoubt(() => asked++)
  return { ...at, asked: () => asked }
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

describe('a clock that goes by the time of a store', () => {
  it('counts on from there, whatever the machine says', () => {
    const { clock, run, setBack, asked } = following()
    expect(clock.now()).toBe(1_600_000_000_000)
    run(60_000)
    setBack(3_600_000)
    expect([clock.now(), asked()]).toEqual([1_600_000_060_000, 0])
  })

  it('asks once when the machine jumps, and is set to what the store says', () => {
    const { clock, sleep, run, asked } = following()
    sleep(600_000)
    expect([clock.now(), clock.now(), asked()]).toEqual([1_600_000_000_000, 1_600_000_000_000, 1])
    run(10)
    clock.setTo(1_600_000_000_020)
    run(60_000)
    expect([clock.now(), asked()]).toEqual([1_600_000_060_020, 1])
  })

  it('believes the machine when nobody answers, so that nothing lasts longer than it should', () => {
    const { clock, sleep, run } = following()
    sleep(600_000)
    expect(clock.now()).toBe(1_600_000_000_000)
    run(2_000)
    expect(clock.now()).toBe(1_600_000_602_000)
  })

  it('goes back when the store says so', () => {
    const { clock } = following()
    clock.setTo(1_500_000_000_000)
    expect(clock.now()).toBe(1_500_000_000_000)
  })
})
