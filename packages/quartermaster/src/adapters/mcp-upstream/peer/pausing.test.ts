import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { untilAborted } from '../testing/until-aborted.ts'
import { pause, withTimeLimit } from './abort.ts'

/** Whether something is over yet. */
function watched(work: Promise<unknown>) {
  const seen = { isOver: false }
  void work.finally(() => (seen.isOver = true)).catch(() => {})
  return seen
}

it('pauses as long as it is told to', async () => {
  const clock = createFakeClock()
  const seen = watched(pause(100, { clock }))
  await clock.advance(99)
  expect(seen.isOver).toBe(false)
  await clock.advance(1)
  expect(seen.isOver).toBe(true)
})

it('pauses no longer than until something is known, however that ends, or nobody wants to wait', async () => {
  const clock = createFakeClock()
  const controller = new AbortController()
  const seen = [
    watched(pause(100, { clock, until: Promise.resolve() })),
    watched(pause(100, { clock, until: Promise.reject(new Error('no')) })),
    watched(pause(100, { clock, signal: AbortSignal.abort() })),
    watched(pause(100, { clock, signal: controller.signal })),
  ]
  controller.abort()
  await clock.advance(0)
  expect(seen.map(({ isOver }) => isOver)).toEqual([true, true, true, true])
})

it('gives work up when its time is over, and says why', async () => {
  const clock = createFakeClock()
  const work = withTimeLimit(100, { clock, reason: 'It took too long.' }, untilAborted)
  const [result] = await Promise.allSettled([work, clock.advance(100)])
  expect(result).toMatchObject({ reason: { message: 'It took too long.' } })
})

it('gives work up earlier where it is told to, for that reason', async () => {
  const clock = createFakeClock()
  const controller = new AbortController()
  const options = { clock, reason: 'It took too long.', signal: controller.signal }
  const work = withTimeLimit(100, options, untilAborted)
  controller.abort(new Error('Never mind.'))
  await expect(work).rejects.toThrow('Never mind.')
})

it('passes on what comes of it in time', async () => {
  expect(await withTimeLimit(100, { clock: createFakeClock(), reason: '' }, async () => 'done')).toBe('done')
})
