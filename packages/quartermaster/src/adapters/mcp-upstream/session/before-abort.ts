import type { CancelSignal } from '../../../core/kernel/index.ts'

/** What comes of it, unless the signal aborts before. */
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
