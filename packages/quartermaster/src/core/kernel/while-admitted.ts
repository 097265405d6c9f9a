import { type AccessGuard, watchAccess } from './access-looks.ts'
import { type CancelSignal, createCancellation } from './cancellation.ts'
import type { Cancel } from './ports.ts'

export interface WhileAdmittedOptions extends AccessGuard {
  /** Given when the client has gone. */
  readonly gone: CancelSignal
}

/**
 * Does what somebody was let in for. The signal that the work gets is given when the client has gone, and when it may not be there
 * any more: then this throws why, and what the work has found is nobody's. Only work that listens to the signal can wait for
 * something, so only then anybody looks: whatever is done at once costs nothing more.
 */
export async function whileAdmitted<T>(
  options: WhileAdmittedOptions,
  work: (gone: CancelSignal) => Promise<T>,
): Promise<T> {
  const watch = createWatch(options)
  try {
    const [outcome] = await Promise.allSettled([work(watch.signal)])
    // Also where it has failed: whoever was sent away is told that, and not what came of it.
    await watch.confirm()
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  } finally {
    watch.stop()
  }
}

function createWatch({ gone, ...guard }: WhileAdmittedOptions) {
  const { signal, cancel } = createCancellation()
  let refusal: unknown
  let isOver = false
  let isLinked = false
  let stopLooking: Cancel | undefined

  function refuse(error: unknown): void {
    refusal ??= error
    cancel(error)
  }

  function link(): void {
    if (isLinked) return
    isLinked = true
    gone.addEventListener('abort', () => cancel(gone.reason))
    // A stream that begins when the work is over is looked after by whoever sends it.
    if (!isOver && !gone.aborted) stopLooking = watchAccess(guard, refuse)
  }

  const watched: CancelSignal = {
    get aborted() {
      return signal.aborted || gone.aborted
    },
    get reason() {
      return signal.aborted ? signal.reason : gone.reason
    },
    addEventListener(type, listener) {
      link()
      signal.addEventListener(type, listener)
    },
    removeEventListener: (type, listener) => signal.removeEventListener(type, listener),
  }

  return {
    signal: watched,
    /** Asked last of all: what was heard of by now may not have been looked at yet, and nobody gets anything unless it is sure. */
    async confirm(): Promise<void> {
      if (stopLooking && !gone.aborted) await guard.stillAdmitted().catch(refuse)
      if (refusal !== undefined) throw refusal
    },
    stop() {
      isOver = true
      stopLooking?.()
    },
  }
}
