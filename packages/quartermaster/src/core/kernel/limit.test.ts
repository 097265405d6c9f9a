import { expect, it } from 'vitest'
import { createLimit } from './index.ts'

it('never runs more tasks than it has slots, and gives a slot back when a task fails', async () => {
  const limit = createLimit(2)
  let running = 0
  let most = 0
  const task = async (fails: boolean) => {
    most = Math.max(most, ++running)
    await new Promise(resolve => setImmediate(resolve))
    running--
    if (fails) throw new Error('failed')
  }
  const outcomes = await Promise.allSettled([true, false, true, false, false].map(fails => limit(() => task(fails))))
  expect(most).toBe(2)
  expect(outcomes.map(outcome => outcome.status)).toEqual([
    'rejected',
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
  ])
})
