import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createLoneLane } from './lone-lane.ts'

function stage() {
  const clock = createFakeClock()
  const lane = createLoneLane(clock)
  const order: string[] = []
  const enter = (name: string, { budgetMs = 10_000, signal = new AbortController().signal } = {}) =>
    lane.enter({ budgetMs, signal }).then(leave => {
      order.push(leave ? name : `${name} gave up`)
      return leave
    })
  return { clock, enter, order }
}

it('lets in one at a time, in the order in which they came', async () => {
  const { clock, enter, order } = stage()
  const entered = ['first', 'second', 'third'].map(name => enter(name))
  for (const [at, one] of entered.entries()) {
    const leave = await one
    await clock.advance(0)
    expect(order).toHaveLength(at + 1)
    leave?.()
  }
  expect(order).toEqual(['first', 'second', 'third'])
})

it('is kept waiting by nobody who gave up before, for want of time or because of a cancellation', async () => {
  const { clock, enter, order } = stage()
  const controller = new AbortController()
  const leave = await enter('first')
  void enter('late', { budgetMs: 1_000 })
  void enter('cancelled', { signal: controller.signal })
  const last = enter('last')
  controller.abort()
  await clock.advance(1_000)
  expect(order).toEqual(['first', 'cancelled gave up', 'late gave up'])
  leave?.()
  await last
  expect(order.at(-1)).toBe('last')
})
