import type { CancelSignal, Clock } from '../../../core/kernel/index.ts'

interface PauseOptions {
  readonly clock: Pick<Clock, 'after'>
  /** Ends the pause early, as does an abort. Neither is an error: the caller checks the result. */
  readonly until?: Promise<unknown> | undefined
  readonly signal?: CancelSignal | undefined
}

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

interface TimeLimitOptions {
  readonly clock: Pick<Clock, 'after'>
  readonly reason: string | Error
  readonly signal?: CancelSignal | undefined
}

/** Aborts the work when its time is over. */
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

/** The result, unless the signal aborts before. */
export function beforeAbort<T>(work: Promise<T>, signal: CancelSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    const leave = () => signal.removeEventListener('abort', abort)
    work.then(
      value => (leave(), resolve(value)),
      error => (leave(), reject(error)),
    )
  })
}

/** Like `AbortSignal.any([a, b])`, without leaking the source signals on Node 20. */
export function anySignal(one: CancelSignal, other: CancelSignal): CancelSignal {
  return {
    get aborted() {
      return one.aborted || other.aborted
    },
    get reason() {
      return one.aborted ? one.reason : other.reason
    },
    addEventListener(type, listener, options) {
      one.addEventListener(type, listener, options)
      other.addEventListener(type, listener, options)
    },
    removeEventListener(type, listener) {
      one.removeEventListener(type, listener)
      other.removeEventListener(type, listener)
    },
  }
}

/** A signal that never aborts. */
export const NEVER: AbortSignal = new AbortController().signal
