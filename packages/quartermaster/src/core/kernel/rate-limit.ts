import { AppError } from '../../contracts/index.ts'
import type { Clock } from './ports.ts'

/** Counts how often each key comes, so that one cannot come all the time. */
export interface RateLimit {
  /** Takes one turn. Throws `RATE_LIMITED` with the time to wait when there is none left. */
  take(key: string): void
}

export interface RateLimitOptions {
  readonly clock: Pick<Clock, 'now'>
  /** So many turns come back in a minute, and as many can be saved up. */
  readonly perMinute: number
  /** What there are too many of: `requests`. */
  readonly what: string
}

/** Keys that have all their turns again need no place; they are looked for when there are this many. */
const MANY = 10_000

export function createRateLimit({ clock, perMinute, what }: RateLimitOptions): RateLimit {
  const turns = new Map<string, { left: number; at: number }>()
  const perMs = perMinute / 60_000

  function leftOf(key: string, now: number): number {
    const known = turns.get(key)
    return known ? Math.min(perMinute, known.left + (now - known.at) * perMs) : perMinute
  }

  function forget(now: number): void {
    for (const key of turns.keys()) if (leftOf(key, now) >= perMinute) turns.delete(key)
  }

  return {
    take(key) {
      const now = clock.now()
      const left = leftOf(key, now)
      if (left < 1) throw tooMany({ perMinute, what, retryAfterSeconds: Math.ceil((1 - left) / perMs / 1_000) })
      if (turns.size >= MANY) forget(now)
      turns.set(key, { left: left - 1, at: now })
    },
  }
}

function tooMany(facts: { perMinute: number; what: string; retryAfterSeconds: number }): AppError {
  const { perMinute, what, retryAfterSeconds } = facts
  const message = `There were more than ${perMinute} ${what} in a minute. Come back in ${retryAfterSeconds} s.`
  return new AppError('RATE_LIMITED', message, { details: { limit: perMinute, retryAfterSeconds } })
}
