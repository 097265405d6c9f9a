/**
 * As much of an `AbortSignal` as work needs of whoever may cancel it. Every `AbortSignal` is one; those made here cost a
 * fraction of it, which is felt where each of thousands of calls a second needs its own.
 */
export interface CancelSignal {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** A signal and the way to give it, once. */
export interface Cancellation {
  readonly signal: CancelSignal
  cancel(reason: unknown): void
}

export function createCancellation(): Cancellation {
  const listeners = new Set<() => void>()
  const signal = { aborted: false, reason: undefined as unknown, addEventListener, removeEventListener }
  function addEventListener(_type: 'abort', listener: () => void): void {
    listeners.add(listener)
  }
  function removeEventListener(_type: 'abort', listener: () => void): void {
    listeners.delete(listener)
  }
  return {
    signal,
    cancel(reason) {
      if (signal.aborted) return
      signal.aborted = true
      signal.reason = reason
      const told = [...listeners]
      listeners.clear()
      for (const listener of told) listener()
    },
  }
}
