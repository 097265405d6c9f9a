import type { CancelSignal } from '../../../core/kernel/index.ts'

/** Is given when the one or the other is. Nothing is kept by it, as is by signals made of signals. */
export function eitherOf(one: CancelSignal, other: CancelSignal): CancelSignal {
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
