import type { StopSignal } from './stop-signal.ts'

/** What comes of it, unless the signal aborts before. */
export function beforeAbort<T>(work: Promise<T>, signal: StopSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
