import type { CancelSignal } from '../kernel/index.ts'

/** Where a context has the signal that its `AbortSignal` is made of. */
export const CANCEL_SIGNAL = Symbol('cancel signal')

/** The signal of a call for code of ours, which listens thousands of times a second and has no need of a whole `AbortSignal`. */
export function cancelSignalOf(context: {
  readonly signal: AbortSignal
  readonly [CANCEL_SIGNAL]?: CancelSignal
}): CancelSignal {
  return context[CANCEL_SIGNAL] ?? context.signal
}
