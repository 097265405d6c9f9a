/** Where a context stops the clock of its run. */
export const PAUSE_RUN = Symbol('pause run')

/**
 * Stops the clock of a call's run, and answers how to go on; for code of ours that has a person asked on behalf of another call,
 * which this one may be waiting for. A question of its own stops it anyway.
 */
export function pauseRun(context: { readonly signal: AbortSignal; [PAUSE_RUN]?(): () => void }): () => void {
  return context[PAUSE_RUN]?.() ?? (() => {})
}
