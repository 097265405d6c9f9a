import { describe, expect, it } from 'vitest'
import { createSystemClock, silentLog } from '../../adapters/system/index.ts'
import { AppError } from '../../contracts/index.ts'
import { collectedLog } from '../../testing/collected-log.ts'
import { createSharedTime } from './index.ts'

const NOW = 1_700_000_000_000

/** A machine whose clock is wrong by so much, and a store that answers after a while. */
function situation({ aheadMs = 0, answerMs = 0 } = {}) {
  const time = { real: NOW, aheadMs }
  const asked: number[] = []
  const clock = createSystemClock({ wall: () => time.real + time.aheadMs, counted: () => time.real + aheadMs })
  const { log, lines } = collectedLog()
  const shared = createSharedTime({
    clock,
    log,
    async time() {
      asked.push(time.real)
      time.real += answerMs / 2
      const said = time.real
      time.real += answerMs / 2
      return said
    },
  })
  return { clock, shared, time, asked, lines, wrongMs: () => clock.now() - time.real }
}

describe('the time of a store that several processes share', () => {
  it.each([600_000, -600_000])('counts, whatever the machine says (%i ms)', async aheadMs => {
    const { shared, wrongMs, lines } = situation({ aheadMs })
    expect(wrongMs()).toBe(aheadMs)
    await shared.align()
    expect(wrongMs()).toBe(0)
    expect(lines.join('')).toContain(`"aheadSeconds":${aheadMs / 1000}`)
  })

  it('is not followed for what answers take', async () => {
    const { shared, wrongMs, lines } = situation({ aheadMs: 90, answerMs: 400 })
    await shared.align()
    expect([wrongMs(), lines]).toEqual([90, []])
  })

  it('is asked for as soon as the machine jumps, so that nobody else is thought to be gone', async () => {
    const { shared, clock, time, asked, wrongMs } = situation()
    await shared.align()
    time.aheadMs = 600_000
    expect([wrongMs(), asked]).toHaveLength(2)
    await clock.breathe()
    expect([wrongMs(), asked.length]).toEqual([0, 2])
    time.real += 60_000
    expect([wrongMs(), asked.length]).toEqual([0, 2])
  })

  it('is asked for again after it could not be', async () => {
    const clock = createSystemClock({ wall: () => NOW, counted: () => NOW })
    let isAway = true
    const time = async () => {
      if (isAway) throw new AppError('STORE_UNAVAILABLE', 'It is away.')
      return NOW - 60_000
    }
    const shared = createSharedTime({ clock, log: silentLog, time })
    await expect(shared.align()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    isAway = false
    await shared.align()
    expect(clock.now()).toBe(NOW - 60_000)
  })
})
