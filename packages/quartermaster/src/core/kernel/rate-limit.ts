import { AppError, isAppError } from '../../contracts/index.ts'
import { type Cancel, type Clock } from './ports.ts'

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

interface FullnessOptions<T> {
  readonly most: number
  readonly keyOf: (place: T) => string
  readonly count: (place: T) => Promise<number>
}

/** Of so many places it is known; then it is begun anew. */
const MOST_KNOWN = 10_000

/**
 * Whether a place takes no more. To count thousands of rows for each would cost more than what is put there, so that it is
 * counted seldom: in between as many are let in as are half of what was free, which leaves the other half to another process
 * that does the same.
 */
export function createFullness<T>({ most, keyOf, count }: FullnessOptions<T>): (place: T) => Promise<boolean> {
  const free = new Map<string, number>()
  return async place => {
    const key = keyOf(place)
    const left = free.get(key) ?? 0
    if (left > 0) {
      free.set(key, left - 1)
      return false
    }
    const held = await count(place)
    if (free.size >= MOST_KNOWN) free.clear()
    free.set(key, Math.floor((most - held) / 2))
    return held >= most
  }
}

/** How it is noticed that somebody who was let in may not be there any more. */
export interface AccessGuard {
  readonly clock: Pick<Clock, 'after'>
  /** How often it is looked by itself: not everything is heard of. */
  readonly pingMs: number
  /** Throws when whoever was let in may not be there any more. */
  stillAdmitted(): Promise<unknown>
  /** Calls back when somebody's access may have ended. */
  onAccessChange(look: () => void): Cancel
}

/** Calls back every so often, and when somebody's access may have ended: then it is time to look. */
export function accessLooks(
  { clock, pingMs, onAccessChange }: Omit<AccessGuard, 'stillAdmitted'>,
  due: () => void,
): Cancel {
  let cancel: Cancel = () => {}
  const wind = () => {
    cancel = clock.after(pingMs, () => {
      wind()
      due()
    })
  }
  const off = onAccessChange(due)
  wind()
  return () => {
    cancel()
    off()
  }
}

/** Looks now and whenever it is time to. Tells when somebody may not be there any more, and why. */
export function watchAccess(guard: AccessGuard, onRefused: (error: unknown) => void): Cancel {
  // One that could not look has seen nothing, and is no reason to send anybody away.
  const look = () => void guard.stillAdmitted().catch(error => isRefused(error) && onRefused(error))
  const stop = accessLooks(guard, look)
  // It may have ended since this one was let in.
  look()
  return stop
}

function isRefused(error: unknown): boolean {
  return isAppError(error) && ['unauthenticated', 'denied', 'notFound'].includes(error.kind)
}
