import { AppError } from '../../contracts/index.ts'
import { type CancelSignal, createCancellation } from './cancellation.ts'
import { type Cancel, type Clock } from './ports.ts'
import { type AccessGuard, watchAccess } from './rate-limit.ts'

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
      // A place is handed on rather than given back, so that nobody who comes meanwhile gets it first.
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
 * Does what somebody was let in for. The signal that the work gets is given when the client has gone, and when it may not be there
 * any more: then this throws why, and what the work has found is nobody's. Only work that listens to the signal can wait for
 * something, so only then anybody looks: whatever is done at once costs nothing more.
 */
export async function whileAdmitted<T>(
  options: WhileAdmittedOptions,
  work: (gone: CancelSignal) => Promise<T>,
): Promise<T> {
  const watch = createWatch(options)
  try {
    const [outcome] = await Promise.allSettled([work(watch.signal)])
    // Also where it has failed: whoever was sent away is told that, and not what came of it.
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
    // A stream that begins when the work is over is looked after by whoever sends it.
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
    /** Asked last of all: what was heard of by now may not have been looked at yet, and nobody gets anything unless it is sure. */
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

/** Makes something once, for whoever asks. What failed is tried again by the next. */
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
