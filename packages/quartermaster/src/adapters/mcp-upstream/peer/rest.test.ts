import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createSubscribeBackoff } from './modern-subscriptions.ts'

function resting() {
  const clock = createFakeClock()
  const ends: number[] = []
  const begunAt = clock.now()
  const rest = createSubscribeBackoff(clock, () => {
    ends.push((clock.now() - begunAt) / 60_000)
    rest.begin()
  })
  return { clock, rest, ends }
}

it('is twice as long each time, half an hour at most', async () => {
  const { clock, rest, ends } = resting()
  rest.begin()
  rest.begin()
  await clock.advance(125 * 60_000)
  expect(ends).toEqual([1, 3, 7, 15, 31, 61, 91, 121])
})

it('is a short one again for what is new, and over when it is stopped', async () => {
  const { clock, rest, ends } = resting()
  rest.begin()
  await clock.advance(4 * 60_000)
  rest.reset()
  await clock.advance(4 * 60_000)
  expect(ends).toEqual([1, 3, 7, 8])
  rest.stop()
  await clock.advance(60 * 60_000)
  expect(ends).toHaveLength(4)
})
