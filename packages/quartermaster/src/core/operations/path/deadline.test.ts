import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createDeadline } from './deadline.ts'

it('is over for good once it is released, also for a clock that is resumed afterwards', async () => {
  const clock = createFakeClock()
  const deadline = createDeadline({ clock, ms: Number.POSITIVE_INFINITY, what: 'It', parent: undefined })
  deadline.limitRun(1_000, 'It')
  const resume = deadline.pauseRun()
  deadline.release()
  resume()
  await clock.advance(2_000)
  expect(deadline.reason()).toBeUndefined()
})
