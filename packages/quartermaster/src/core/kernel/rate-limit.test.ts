import { expect, it } from 'vitest'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createRateLimit } from './index.ts'

it('gives each key so many turns in a minute, and says when the next one comes', async () => {
  const clock = createFakeClock()
  const limit = createRateLimit({ clock, perMinute: 2, what: 'tries' })
  limit.take('a')
  limit.take('a')
  limit.take('b')
  expect(() => limit.take('a')).toThrow(
    expect.objectContaining({ code: 'RATE_LIMITED', details: { limit: 2, retryAfterSeconds: 30 } }),
  )
  await clock.advance(29_999)
  expect(() => limit.take('a')).toThrow('Come back in 1 s.')
  await clock.advance(1)
  limit.take('a')
  expect(() => limit.take('a')).toThrow('more than 2 tries')
  await clock.advance(3_600_000)
  limit.take('a')
  limit.take('a')
  expect(() => limit.take('a')).toThrow('Come back in 30 s.')
})
