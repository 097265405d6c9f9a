import type { CancelSignal, Clock } from '../../core/kernel/index.ts'

export interface PauseOptions {
  readonly clock: Pick<Clock, 'after'>
  /** Ends it early, as does an abort. Neither is an error: whoever paused looks at what has come of it. */
  readonly until?: Promise<unknown> | undefined
  readonly signal?: CancelSignal | undefined
}

/** Lets time pass, but not longer than anybody wants to wait. */
export function pause(ms: number, { clock, until, signal }: PauseOptions): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise(resolve => {
    const end = () => {
      cancel()
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.after(ms, end)
    signal?.addEventListener('abort', end, { once: true })
    until?.then(end, end)
  })
}

export interface TimeLimitOptions {
  readonly clock: Pick<Clock, 'after'>
  /** Why it is given up when the time is over. */
  readonly reason: string | Error
  /** Gives it up earlier. */
  readonly signal?: CancelSignal | undefined
}

/** Work that is given up when its time is over: its signal aborts then. */
export async function withTimeLimit<T>(
  ms: number,
  { clock, reason, signal }: TimeLimitOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const cancel = clock.after(ms, () => controller.abort(typeof reason === 'string' ? new Error(reason) : reason))
  const abort = () => controller.abort(signal?.reason)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort, { once: true })
  try {
    return await work(controller.signal)
  } finally {
    cancel()
    signal?.removeEventListener('abort', abort)
  }
}
