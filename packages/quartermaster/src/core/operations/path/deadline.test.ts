import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createDeadline } from './deadline.ts'

it('stays over once it is released, also when its clock is resumed afterwards', async () => {
  const clock = createFakeClock()
  const deadline = createDeadline({ clock, ms: Number.POSITIVE_INFINITY, what: 'It', parent: undefined })
  deadline.limitRun(1_000, 'It')
  const resume = deadline.pauseRun()
  deadline.release()
  resume()
  await clock.advance(2_000)
  expect(deadline.reason()).toBeUndefined()
})

it('says whether the limit of the run has ended it, which the caller cannot raise', async () => {
  const clock = createFakeClock()
  const ended = async (ms: number) => {
    const deadline = createDeadline({ clock, ms, what: 'The call', parent: undefined })
    deadline.limitRun(1_000, 'The run')
    await clock.advance(1_000)
    return deadline.reason()
  }
  expect(await ended(5_000)).toMatchObject({ code: 'DEADLINE_EXCEEDED', details: { runLimitMs: 1_000 } })
  expect((await ended(500))?.details).toBeUndefined()
})
