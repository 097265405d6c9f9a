import { AppError, toAppError } from '../../../contracts/index.ts'
import {
  type Cancel,
  type Cancellation,
  type CancelSignal,
  type Clock,
  createCancellation,
} from '../../kernel/index.ts'

/** The end of a call: the caller's cancellation or the time limit, whichever comes first. */
export interface Deadline {
  /** In epoch milliseconds. */
  at(): number
  /** Made on first use: most handlers never use it, and it costs more than the rest of a short call. */
  signal(): AbortSignal
  /** The same for our own code, at a fraction of the cost. */
  cancelSignal(): CancelSignal
  /** Why the call ended, if it has. */
  reason(): AppError | undefined
  /** The run begins, and may take this long. */
  limitRun(ms: number, what: string): void
  /** Pauses the limit of the run, and of its parents, while a person is asked; returns how to resume. */
  pauseRun(): () => void
  /** Settles as `work` does, but no later than the deadline, whatever the work does with its signal. */
  race<T>(work: Promise<T>): Promise<T>
  cancel(reason: AppError): void
  /** The call is over: releases the timer and the caller's signal, and rejects what is still raced. */
  release(): void
}

interface DeadlineOptions {
  readonly clock: Clock
  /** The limit of the whole call; `Infinity` where only the run is limited. */
  readonly ms: number
  /** What is being waited for, for the message. */
  readonly what: string
  readonly parent: CancelSignal | undefined
  /** The deadline of the parent call, whose signal is `parent`. */
  readonly outer?: Deadline | undefined
}

interface Limit {
  readonly at: number
  readonly ms: number
  readonly what: string
}

export function createDeadline({ clock, ms, what, parent, outer }: DeadlineOptions): Deadline {
  const waiting = new Set<(reason: AppError) => void>()
  const whole: Limit = { at: clock.now() + ms, ms, what }
  let run: Limit | undefined
  let paused: { run: Limit; left: number } | undefined
  let pauses = 0
  let isReleased = false
  let reason: AppError | undefined
  let controller: AbortController | undefined
  let cancellation: Cancellation | undefined
  let cancelTimer: Cancel = () => {}

  function end(why: AppError): void {
    if (reason) return
    reason = why
    controller?.abort(why)
    cancellation?.cancel(why)
    for (const reject of waiting) reject(why)
  }

  const nearest = (): Limit => (run && run.at < whole.at ? run : whole)

  function arm(): void {
    cancelTimer()
    const limit = nearest()
    if (isReleased || limit.at === Number.POSITIVE_INFINITY) return
    cancelTimer = clock.after(limit.at - clock.now(), () => end(exceeded(limit, limit === run)))
  }

  function resume(): void {
    if (--pauses > 0 || !paused) return
    run = { ...paused.run, at: clock.now() + paused.left }
    paused = undefined
    arm()
  }

  arm()
  const onParent = () => end(cancelled(parent?.reason))
  if (parent?.aborted) onParent()
  // Not AbortSignal.any: on Node 20 it keeps every derived signal alive as long as its sources are.
  parent?.addEventListener('abort', onParent, { once: true })

  return {
    at: () => Math.min(nearest().at, outer?.at() ?? Number.POSITIVE_INFINITY),
    signal() {
      controller ??= new AbortController()
      if (reason) controller.abort(reason)
      return controller.signal
    },
    cancelSignal() {
      cancellation ??= createCancellation()
      if (reason) cancellation.cancel(reason)
      return cancellation.signal
    },
    reason: () => reason,
    limitRun(within, name) {
      run = { at: clock.now() + within, ms: within, what: name }
      if (run.at < whole.at) arm()
    },
    pauseRun() {
      const resumeOuter = outer?.pauseRun()
      if (pauses++ === 0 && run) {
        paused = { run, left: run.at - clock.now() }
        run = undefined
        arm()
      }
      return () => {
        resume()
        resumeOuter?.()
      }
    },
    race(work) {
      return new Promise((resolve, reject) => {
        if (reason) reject(reason)
        waiting.add(reject)
        const leave = () => waiting.delete(reject)
        // After the deadline this settles nothing, but handles the rejection.
        work.then(
          value => (leave(), resolve(value)),
          error => (leave(), reject(error)),
        )
      })
    },
    cancel: end,
    release() {
      isReleased = true
      cancelTimer()
      parent?.removeEventListener('abort', onParent)
      for (const reject of waiting) reject(new AppError('CANCELLED', 'The call is over.'))
    },
  }
}

function cancelled(reason: unknown): AppError {
  const own = toAppError(reason)
  return own.code === 'INTERNAL' ? new AppError('CANCELLED', 'The call was cancelled.', { cause: reason }) : own
}

/** `runLimitMs` tells the caller that a longer timeout of its own would not help. */
function exceeded({ what, ms }: Limit, isOfRun: boolean): AppError {
  const details = isOfRun ? { details: { runLimitMs: ms } } : {}
  return new AppError('DEADLINE_EXCEEDED', `${what} did not finish within ${ms} ms.`, details)
}
