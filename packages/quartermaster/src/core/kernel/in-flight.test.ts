import { expect, it } from 'vitest'
import { createInFlight } from './index.ts'

it('lets each credential have so many at once, and advises to wait', () => {
  const inFlight = createInFlight({ most: 2, what: 'requests' })
  const leave = inFlight.enter('a')
  inFlight.enter('a')
  expect(() => inFlight.enter('a')).toThrow(
    expect.objectContaining({ code: 'RATE_LIMITED', kind: 'rateLimited', retry: 'later' }),
  )
  inFlight.enter('b')
  leave()
  leave()
  expect(inFlight.count()).toBe(2)
  inFlight.enter('a')
  expect(() => inFlight.enter('a')).toThrow('2 requests')
})
