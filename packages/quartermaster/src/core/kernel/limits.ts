import { AppError, isAppError } from '../../contracts/index.ts'
import { type CancelSignal, createCancellation } from './abort.ts'
import type { Cancel, Clock } from './ports.ts'

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

/** The most keys that are remembered; with more, counting starts again. */
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

/** Notices that an admitted client has lost its access. */
export interface AccessGuard {
  readonly clock: Pick<Clock, 'after'>
  /** How often it is looked by itself: not everything is heard of. */
  readonly pingMs: number
  /** Throws when the access has ended. */
  stillAdmitted(): Promise<unknown>
  /** Calls back when the access may have ended. */
  onAccessChange(look: () => void): Cancel
}

/** Calls back every so often, and when the access may have ended: then it is time to check. */
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

/** Checks now and whenever it is time to. Reports that the access has ended, and why. */
export function watchAccess(guard: AccessGuard, onRefused: (error: unknown) => void): Cancel {
  // A check that failed has found nothing, and is no reason to refuse a client.
  const look = () => void guard.stillAdmitted().catch(error => isRefused(error) && onRefused(error))
  const stop = accessLooks(guard, look)
  // It may have ended since this one was let in.
  look()
  return stop
}

function isRefused(error: unknown): boolean {
  return isAppError(error) && ['unauthenticated', 'denied', 'notFound'].includes(error.kind)
}

/** Runs tasks, at most so many at a time, in the order they came. */
export type Limit = <T>(task: () => Promise<T>) => Promise<T>

export function createLimit(slots: number): Limit {
  const waiting: (() => void)[] = []
  let free = slots
  return async task => {
    if (free > 0) free--
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      return await task()
    } finally {
      // A place is handed on rather than given back, so that a newcomer cannot take it first.
      const next = waiting.shift()
      if (next) next()
      else free++
    }
  }
}

/** Counts what each credential has under way, so that one cannot take everything. */
export interface InFlight {
  /** Takes a place and answers how to give it back, which is safe to do twice. Throws `RATE_LIMITED` when there is none. */
  enter(key: string): () => void
  hasPlace(key: string): boolean
  count(): number
}

export function createInFlight({ most, what }: { most: number; what: string }): InFlight {
  const places = new Map<string, number>()
  let total = 0

  function leave(key: string): void {
    total--
    const left = (places.get(key) ?? 1) - 1
    if (left === 0) places.delete(key)
    else places.set(key, left)
  }

  const hasPlace = (key: string) => (places.get(key) ?? 0) < most

  function check(key: string): void {
    if (hasPlace(key)) return
    const message = `There are ${most} ${what} already. Wait for one to end.`
    throw new AppError('RATE_LIMITED', message, { details: { limit: most } })
  }

  return {
    enter(key) {
      check(key)
      places.set(key, (places.get(key) ?? 0) + 1)
      total++
      let isIn = true
      return () => {
        if (isIn) leave(key)
        isIn = false
      }
    },
    hasPlace,
    count: () => total,
  }
}

export interface WhileAdmittedOptions extends AccessGuard {
  /** Given when the client has gone. */
  readonly gone: CancelSignal
}

/**
 * Does the work of an admitted client. The signal that the work gets aborts when the client has gone, and when its access has
 * ended: then this throws why, and the result is dropped. Only work that listens to the signal can wait for
 * something, so access is watched only then: work that is done at once costs nothing more.
 */
export async function whileAdmitted<T>(
  options: WhileAdmittedOptions,
  work: (gone: CancelSignal) => Promise<T>,
): Promise<T> {
  const watch = createWatch(options)
  try {
    const [outcome] = await Promise.allSettled([work(watch.signal)])
    // Also where it has failed: a client whose access ended is told that, and not the result.
    await watch.confirm()
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  } finally {
    watch.stop()
  }
}

function createWatch({ gone, ...guard }: WhileAdmittedOptions) {
  const { signal, cancel } = createCancellation()
  let refusal: unknown
  let isOver = false
  let isLinked = false
  let stopLooking: Cancel | undefined

  function refuse(error: unknown): void {
    refusal ??= error
    cancel(error)
  }

  function link(): void {
    if (isLinked) return
    isLinked = true
    gone.addEventListener('abort', () => cancel(gone.reason))
    // A stream that begins when the work is over is watched by its sender.
    if (!isOver && !gone.aborted) stopLooking = watchAccess(guard, refuse)
  }

  const watched: CancelSignal = {
    get aborted() {
      return signal.aborted || gone.aborted
    },
    get reason() {
      return signal.aborted ? signal.reason : gone.reason
    },
    addEventListener(type, listener) {
      link()
      signal.addEventListener(type, listener)
    },
    removeEventListener: (type, listener) => signal.removeEventListener(type, listener),
  }

  return {
    signal: watched,
    /** Checked last: an event that ended the access may not have been handled yet, and nothing is sent unless the access is sure. */
    async confirm(): Promise<void> {
      if (stopLooking && !gone.aborted) await guard.stillAdmitted().catch(refuse)
      if (refusal !== undefined) throw refusal
    },
    stop() {
      isOver = true
      stopLooking?.()
    },
  }
}

/** Work that is done now and again, one round after the other. */
export interface Rounds {
  /** Begins with the first one. */
  start(): void
  /** No other begins. Resolves when the one that is under way is done. */
  stop(): Promise<void>
  isStopped(): boolean
}

export interface RoundsOptions {
  readonly clock: Pick<Clock, 'after'>
  /** How long it rests between two. */
  readonly everyMs: number
  /** Whether a round is this process's to do; always when absent. */
  readonly isOurs?: (() => boolean) | undefined
  work(): Promise<unknown>
  /** A round that fails is followed by the next. */
  onError(error: unknown): void
}

export function createRounds({ clock, everyMs, isOurs = () => true, work, onError }: RoundsOptions): Rounds {
  let isStopped = false
  let cancel: Cancel = () => {}
  let round: Promise<unknown> | undefined

  function begin(): void {
    round = (isOurs() ? work() : Promise.resolve()).catch(onError).finally(() => {
      if (!isStopped) cancel = clock.after(everyMs, begin)
    })
  }

  return {
    start: begin,
    async stop() {
      isStopped = true
      cancel()
      await round
    },
    isStopped: () => isStopped,
  }
}

/** Makes something once for all callers. A failure is tried again by the next caller. */
export function remembered<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch(error => {
      made = undefined
      throw error
    })
    return made
  }
}

/** How a stream that ends again and again is opened again. */
export interface ReopeningLimits {
  readonly firstMs: number
  readonly longestMs: number
}

/** What was open for as long as this has worked; what ended sooner is tried ever more rarely, as if it had never opened. */
const WORKED_MS = 1_000

/** How long to wait before it is opened once more, by how often it has ended soon after it was begun. */
export function reopening({ firstMs, longestMs }: ReopeningLimits): (lastedMs: number) => number {
  let tries = 0
  return lastedMs => {
    if (lastedMs > WORKED_MS) tries = 0
    return Math.min(firstMs * 2 ** tries++, longestMs)
  }
}
