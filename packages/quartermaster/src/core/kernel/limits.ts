import { AppError, isAppError } from '../../contracts/index.ts'
import { type CancelSignal, createCancellation } from './abort.ts'
import type { Cancel, Clock } from './ports.ts'

/** With this many keys, those that have all their turns again are dropped. */
const MANY = 10_000

/**
 * Limits how often each key may do something. `perMinute` turns come back in a minute, and no more can be saved up. `what` is for
 * the message: `requests`.
 */
export function createRateLimit(options: { clock: Pick<Clock, 'now'>; perMinute: number; what: string }) {
  const { clock, perMinute, what } = options
  const turns = new Map<string, { left: number; at: number }>()
  const perMs = perMinute / 60_000

  function leftOf(key: string, now: number): number {
    const known = turns.get(key)
    return known ? Math.min(perMinute, known.left + (now - known.at) * perMs) : perMinute
  }

  function forget(now: number): void {
    for (const key of turns.keys()) if (leftOf(key, now) >= perMinute) turns.delete(key)
  }

  function tooMany(retryAfterSeconds: number): AppError {
    const message = `There were more than ${perMinute} ${what} in a minute. Come back in ${retryAfterSeconds} s.`
    return new AppError('RATE_LIMITED', message, { details: { limit: perMinute, retryAfterSeconds } })
  }

  return {
    /** Throws `RATE_LIMITED` with the time to wait when the key has no turn left. */
    take(key: string): void {
      const now = clock.now()
      const left = leftOf(key, now)
      if (left < 1) throw tooMany(Math.ceil((1 - left) / perMs / 1_000))
      if (turns.size >= MANY) forget(now)
      turns.set(key, { left: left - 1, at: now })
    },
  }
}

/** With more keys, counting starts over. */
const MOST_KNOWN = 10_000

/**
 * Tells whether a container is full without counting its rows each time. Between two counts it admits half of what was free,
 * which leaves the other half to another process that does the same.
 */
export function createFullnessCheck<T>(options: {
  readonly most: number
  readonly keyOf: (place: T) => string
  readonly count: (place: T) => Promise<number>
}): (place: T) => Promise<boolean> {
  const { most, keyOf, count } = options
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
  /** Interval of checks: not every change is announced. */
  readonly pingMs: number
  stillAdmitted(): Promise<unknown>
  onAccessChange(look: () => void): Cancel
}

/** Calls back at an interval and on each change of access: time to check. */
export function scheduleAccessChecks(
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

/** Checks now, at an interval and on each change of access. Reports when and why the access has ended. */
export function watchAccess(guard: AccessGuard, onRefused: (error: unknown) => void): Cancel {
  // A check that failed for another reason says nothing about the access.
  const look = () =>
    void guard.stillAdmitted().catch(error => {
      if (isAppError(error) && ['unauthenticated', 'denied', 'notFound'].includes(error.kind)) onRefused(error)
    })
  const stop = scheduleAccessChecks(guard, look)
  // The access may have ended since the client was admitted.
  look()
  return stop
}

/** Runs tasks in order, with a maximum at a time. */
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
      // The slot is passed on directly, so that a newcomer cannot take it first.
      const next = waiting.shift()
      if (next) next()
      else free++
    }
  }
}

/** Limits concurrent work for each credential. */
export function createInFlight({ most, what }: { most: number; what: string }) {
  const places = new Map<string, number>()
  let total = 0

  function leave(key: string): void {
    total--
    const left = (places.get(key) ?? 1) - 1
    if (left === 0) places.delete(key)
    else places.set(key, left)
  }

  const hasPlace = (key: string) => (places.get(key) ?? 0) < most

  return {
    /** Returns the function that releases the slot, which is safe to call twice. Throws `RATE_LIMITED` when there is none. */
    enter(key: string): () => void {
      if (!hasPlace(key)) {
        const message = `There are ${most} ${what} already. Wait for one to end.`
        throw new AppError('RATE_LIMITED', message, { details: { limit: most } })
      }
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

/**
 * Runs the work of an admitted client; `gone` aborts when it has disconnected. The signal given to the work aborts when the client disconnects or loses its access;
 * then this throws the reason and the result is dropped. Access is watched only once the work listens to the signal, so work
 * that never waits costs nothing more.
 */
export async function whileAdmitted<T>(
  options: AccessGuard & { readonly gone: CancelSignal },
  work: (gone: CancelSignal) => Promise<T>,
): Promise<T> {
  const watch = createWatch(options)
  try {
    const [outcome] = await Promise.allSettled([work(watch.signal)])
    // Also after a failure: a client whose access ended gets that error and no other.
    await watch.confirm()
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  } finally {
    watch.stop()
  }
}

function createWatch({ gone, ...guard }: AccessGuard & { readonly gone: CancelSignal }) {
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
    // A stream that begins after the work is watched by its sender.
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
    /** Checked last: the event that ended the access may not have been handled yet. */
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

/** Periodic work, one round after the other. */
export interface Rounds {
  start(): void
  /** Starts no other round. Resolves when the current one is done. */
  stop(): Promise<void>
  isStopped(): boolean
}

/** `everyMs` is the pause between two rounds. `isOurs` says whether this process does the round. */
export function createRounds(options: {
  readonly clock: Pick<Clock, 'after'>
  readonly everyMs: number
  readonly isOurs?: (() => boolean) | undefined
  work(): Promise<unknown>
  onError(error: unknown): void
}): Rounds {
  const { clock, everyMs, isOurs = () => true, work, onError } = options
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

/** Makes something once for all callers. After a failure the next caller tries again. */
export function memoize<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch(error => {
      made = undefined
      throw error
    })
    return made
  }
}

/** A stream that was open for so long has worked, and the delay starts over. */
const WORKED_MS = 1_000

/** The delay before a stream is opened again; it doubles while streams end soon after they began. */
export function createReopenDelay(limits: { firstMs: number; longestMs: number }): (lastedMs: number) => number {
  const { firstMs, longestMs } = limits
  let tries = 0
  return lastedMs => {
    if (lastedMs > WORKED_MS) tries = 0
    return Math.min(firstMs * 2 ** tries++, longestMs)
  }
}
