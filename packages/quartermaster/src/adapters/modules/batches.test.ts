import { expect, it } from 'vitest'
import { createBatches } from './bundler.ts'

it('works on what is asked at the same moment together, so many at a time, and answers each', async () => {
  const batches: (readonly number[])[] = []
  const double = createBatches(2, async (numbers: readonly number[]) => {
    batches.push(numbers)
    return numbers.map(number => 2 * number)
  })
  expect(await Promise.all([1, 2, 3].map(double))).toEqual([2, 4, 6])
  expect(await double(4)).toBe(8)
  expect(batches).toEqual([[1, 2], [3], [4]])
})

it('fails all of a batch that fails, and no other', async () => {
  const ask = createBatches(2, async (words: readonly string[]) => {
    if (words.includes('bad')) throw new Error('failed')
    return words
  })
  const outcomes = await Promise.allSettled(['good', 'bad', 'better'].map(ask))
  expect(outcomes.map(outcome => outcome.status)).toEqual(['rejected', 'rejected', 'fulfilled'])
})
