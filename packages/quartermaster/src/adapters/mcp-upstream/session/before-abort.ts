import type { CancelSignal } from '../../../core/kernel/index.ts'

/** What comes of it, unless the signal aborts before. */
export function beforeAbort<T>(work: Promise<T>, signal: CancelSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
