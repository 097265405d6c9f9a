import { expect, it } from 'vitest'
import { silentLog } from '../system/index.ts'
import { createLazyParts, type UpstreamParts } from './mounts.ts'

/** Parts that cannot be made the first time. */
function stage() {
  const seen = { made: 0, closed: 0 }
  const parts = createLazyParts({
    log: silentLog,
    async parts() {
      if (++seen.made === 1) throw new Error('There is no room.')
      return { close: async () => void seen.closed++ } as unknown as UpstreamParts
    },
  })
  return { seen, parts }
}

it('is made anew for whoever needs it after it could not be made, once for all of them, and closed', async () => {
  const { seen, parts } = stage()
  const insisting = () => parts.get().catch(() => parts.get())
  const [first, second] = await Promise.all([insisting(), insisting()])
  expect(first).toBe(second)
  await parts.close()
  expect(seen).toEqual({ made: 2, closed: 1 })
})

it('has nothing to close where nothing was made', async () => {
  const { seen, parts } = stage()
  await parts.close()
  await expect(parts.get()).rejects.toThrow('There is no room.')
  await parts.close()
  expect(seen).toEqual({ made: 1, closed: 0 })
})
