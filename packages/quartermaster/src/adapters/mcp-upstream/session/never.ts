/** The signal of what nobody gives up. */
export const NEVER: AbortSignal = new AbortController().signal
