import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createGapReporter } from './subscription-times.ts'

function stage() {
  const clock = createFakeClock()
  const begun = clock.now()
  const told: number[] = []
  const gaps = createGapReporter(clock, () => void told.push(clock.now() - begun))
  const missed = async ({ times, everyMs }: { times: number; everyMs: number }) => {
    for (let time = 0; time < times; time++) {
      gaps.missed()
      await clock.advance(everyMs)
    }
  }
  return { clock, told, gaps, missed }
}

it('tells ever more seldom where one gap follows the other, and forgets none', async () => {
  const { clock, told, missed } = stage()
  await missed({ times: 40, everyMs: 2_000 })
  await clock.advance(60_000)
  expect(told).toEqual([0, 5_000, 15_000, 35_000, 65_000, 95_000])
})
