import { expect, it } from 'vitest'
import { createFullnessCheck } from './index.ts'

/** An inbox that takes so many, and how often it was counted. */
function inboxOf(most: number) {
  const owner = { id: 'ws_bob', organisation: 'default' }
  const seen = { waiting: 0, counts: 0 }
  const isFull = createFullnessCheck({
    most,
    keyOf: ({ id }: typeof owner) => id,
    count: async () => {
      seen.counts++
      return seen.waiting
    },
  })
  /** Sends until it takes no more. */
  async function fill() {
    while (!(await isFull(owner))) seen.waiting++
  }
  return { owner, seen, isFull, fill }
}

it('lets in exactly as many as it takes, and counts a few times for thousands', async () => {
  const { seen, fill } = inboxOf(10_000)
  await fill()
  expect(seen.waiting).toBe(10_000)
  expect(seen.counts).toBeLessThan(20)
})

it('takes more as soon as one is acknowledged', async () => {
  const { owner, seen, isFull, fill } = inboxOf(100)
  await fill()
  expect(await isFull(owner)).toBe(true)
  seen.waiting--
  await fill()
  expect(seen.waiting).toBe(100)
})
