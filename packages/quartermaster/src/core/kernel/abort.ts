/**
 * The part of an `AbortSignal` that cancellable work needs. Signals made here cost a fraction of an `AbortSignal`, which
 * matters where each of thousands of calls a second needs its own.
 */
export interface CancelSignal {
  readonly aborted: boolean
  readonly reason: unknown
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

export function throwIfCancelled({ aborted, reason }: CancelSignal): void {
  if (aborted) throw reason
}

/** The result of the work, or a rejection with the reason of the cancellation. The work itself continues. */
export async function unlessCancelled<T>(work: Promise<T>, signal: CancelSignal | undefined): Promise<T> {
  if (!signal) return work
  let abort = () => {}
  const cancelled = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
  try {
    return await Promise.race([work, cancelled])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

export interface Cancellation {
  readonly signal: CancelSignal
  cancel(reason: unknown): void
}

export function createCancellation(): Cancellation {
  const signal = new LightSignal()
  return { signal, cancel: reason => signal.give(reason) }
}

/** A class, because every call makes several of these and most are never listened to. */
class LightSignal implements CancelSignal {
  aborted = false
  reason: unknown = undefined
  #listeners: Set<() => void> | undefined

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners?.delete(listener)
  }

  give(reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    const listeners = [...(this.#listeners ?? [])]
    this.#listeners = undefined
    for (const listener of listeners) listener()
  }
}
