import type { CallContext } from './tool.ts'

const reasons = new WeakMap<CallContext, string>()

/** A handler only waits so far, and says what for. Cut short now, its call has done nothing, whatever the tool does. */
export function holdBack(context: CallContext, why: string): void {
  reasons.set(context, why)
}

/** It begins: from here on nobody knows what was done when it is cut short. */
export function letGo(context: CallContext): void {
  reasons.delete(context)
}

/** What it waits for, if it has done nothing yet. */
export function heldBackBy(context: CallContext): string | undefined {
  return reasons.get(context)
}
