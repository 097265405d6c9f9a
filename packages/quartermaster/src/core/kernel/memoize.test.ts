import { expect, it } from 'vitest'
import { memoize } from './index.ts'

it('makes it once for all who ask', async () => {
  let times = 0
  const one = memoize(async () => ++times)
  expect(await Promise.all([one(), one()])).toEqual([1, 1])
  expect(await one()).toBe(1)
})

it('tries again after a failure', async () => {
  let times = 0
  const one = memoize(async () => {
    if (++times === 1) throw new Error('gone')
    return times
  })
  await expect(one()).rejects.toThrow('gone')
  expect(await one()).toBe(2)
})
