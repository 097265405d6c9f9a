import type { CancelSignal } from '../../../core/kernel/index.ts'

/** What is never done, and given up when the signal says so. */
export function untilAborted(signal: CancelSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}
