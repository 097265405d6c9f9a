import { expect, it } from 'vitest'
import { inTurns, runToEnd } from './index.ts'

function* threeSteps() {
  yield
  yield
  yield
  return 'done'
}

it('lets others have their turn when work has gone on for long enough, and not before', async () => {
  let now = 0
  let turns = 0
  const clock = {
    now: () => (now += 2),
    breathe: async () => void turns++,
  }
  expect(await inTurns(threeSteps(), clock)).toBe('done')
  expect(turns).toBe(1)
  expect(await inTurns(threeSteps(), { now: () => 0, breathe: async () => void turns++ })).toBe('done')
  expect(turns).toBe(1)
})

it('can do the same without a pause', () => {
  expect(runToEnd(threeSteps())).toBe('done')
})
