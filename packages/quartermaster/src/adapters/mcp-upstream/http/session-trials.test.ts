import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createSessionTrials, TRIAL_MS } from './session-trials.ts'

it('makes one new session in ten minutes, however many calls are not found', async () => {
  const clock = createFakeClock()
  const trials = createSessionTrials(clock)
  for (let round = 0; round < 2; round++) {
    expect([trials.begin(), trials.begin()]).toEqual([true, false])
    await clock.advance(TRIAL_MS - 1)
    expect(trials.begin()).toBe(false)
    await clock.advance(1)
  }
})
