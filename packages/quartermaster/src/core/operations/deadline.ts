import { AppError, toAppError } from '../../contracts/index.ts'
import type { Clock } from '../kernel/index.ts'

/** A signal that aborts with the caller's or when time is over, and lets go of both when it is done. */
export interface Deadline {
  readonly signal: AbortSignal
  readonly at: number
  /** Settles as `work` does, but no later than the deadline, whatever the work does with its signal. */
  race<T>(work: Promise<T>): Promise<T>
  end(): void
}

export function createDeadline(options: {
  clock: Clock
  ms: number
  parent: AbortSignal | undefined
  what: string
}): Deadline {
  const { clock, ms, parent, what } = options
  const controller = new AbortController()
  // Not AbortSignal.any: on Node 20 it keeps every derived signal alive as long as its sources are.
  const onParent = () => controller.abort(cancelled(parent))
  if (parent?.aborted) onParent()
  parent?.addEventListener('abort', onParent, { once: true })
  const cancel = clock.after(ms, () =>
    controller.abort(new AppError('DEADLINE_EXCEEDED', `${what} did not finish within ${ms} ms.`)),
  )
  return {
    signal: controller.signal,
    at: clock.now() + ms,
    race: work => raceSignal(work, controller.signal),
    end() {
      cancel()
      parent?.removeEventListener('abort', onParent)
    },
  }
}

function cancelled(parent: AbortSignal | undefined): AppError {
  const reason = parent?.reason
  const own = toAppError(reason)
  return own.code === 'INTERNAL' ? new AppError('CANCELLED', 'The call was cancelled.', { cause: reason }) : own
}

function raceSignal<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    // A late end goes nowhere: the promise has settled, and the rejection is taken here.
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
