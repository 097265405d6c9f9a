import { AppError, toAppError } from '../../contracts/index.ts'
import type { Cancel, Clock } from '../kernel/index.ts'

/** The end of a call: the caller's cancellation or the clock, whichever comes first. */
export interface Deadline {
  /** When time is over, as epoch milliseconds. */
  readonly at: number
  /** Made on first use: most handlers never look at it, and it costs more than the rest of a short call. */
  readonly signal: AbortSignal
  /** Why it ended, if it has. */
  readonly reason: AppError | undefined
  /** Moves the end closer, never away. */
  tighten(ms: number, what: string): void
  /** Settles as `work` does, but no later than the end, whatever the work does with its signal. */
  race<T>(work: Promise<T>): Promise<T>
  /** Ends it now. */
  cancel(reason: AppError): void
  /** Lets go of the clock and of the caller's signal. */
  release(): void
}

export interface DeadlineOptions {
  readonly clock: Clock
  /** How long it may take in all; `Infinity` where only the run is bounded. */
  readonly ms: number
  /** What is being waited for, for the message. */
  readonly what: string
  readonly parent: AbortSignal | undefined
}

export function createDeadline({ clock, ms, what, parent }: DeadlineOptions): Deadline {
  const waiting = new Set<(reason: AppError) => void>()
  let at = clock.now() + ms
  let reason: AppError | undefined
  let controller: AbortController | undefined

  function end(why: AppError): void {
    if (reason) return
    reason = why
    controller?.abort(why)
    for (const reject of waiting) reject(why)
  }

  const arm = (within: number, name: string): Cancel =>
    within === Number.POSITIVE_INFINITY
      ? () => {}
      : clock.after(within, () => end(new AppError('DEADLINE_EXCEEDED', `${name} did not finish within ${within} ms.`)))
  let cancelTimer = arm(ms, what)
  const onParent = () => end(cancelled(parent?.reason))
  if (parent?.aborted) onParent()
  // Not AbortSignal.any: on Node 20 it keeps every derived signal alive as long as its sources are.
  parent?.addEventListener('abort', onParent, { once: true })

  return {
    get at() {
      return at
    },
    get signal() {
      controller ??= new AbortController()
      if (reason) controller.abort(reason)
      return controller.signal
    },
    get reason() {
      return reason
    },
    tighten(within, name) {
      const sooner = clock.now() + within
      if (sooner >= at) return
      at = sooner
      cancelTimer()
      cancelTimer = arm(within, name)
    },
    race(work) {
      return new Promise((resolve, reject) => {
        if (reason) reject(reason)
        waiting.add(reject)
        // A late end goes nowhere: the promise has settled, and the rejection is taken here.
        work.then(resolve, reject).finally(() => waiting.delete(reject))
      })
    },
    cancel: end,
    release() {
      cancelTimer()
      parent?.removeEventListener('abort', onParent)
    },
  }
}

function cancelled(reason: unknown): AppError {
  const own = toAppError(reason)
  return own.code === 'INTERNAL' ? new AppError('CANCELLED', 'The call was cancelled.', { cause: reason }) : own
}
