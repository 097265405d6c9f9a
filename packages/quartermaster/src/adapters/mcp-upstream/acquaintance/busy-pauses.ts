import { busyMsOf, SendFailure } from '../session/channel.ts'

/** How long a server that asks to come back later is left alone before it is asked again what it has. */
export interface BusyPauses {
  /** After this failure to list. Nothing where it does not say that it is busy. */
  after(error: unknown): number | undefined
  /** It has listed what it has. */
  over(): void
}

/** What it has told of is not known meanwhile, so nobody waits for longer than until the next look. */
const PAUSES = { leastMs: 1_000, longestMs: 60_000 }

export function createBusyPauses(): BusyPauses {
  /** In a row. */
  let count = 0
  return {
    after(error) {
      const askedMs = error instanceof SendFailure ? busyMsOf(error) : undefined
      if (askedMs === undefined) {
        count = 0
        return undefined
      }
      // A server that is always asked when it says, and is busy each time, would get nothing but requests.
      const grownMs = PAUSES.leastMs * 2 ** count++
      return Math.min(Math.max(askedMs, grownMs), PAUSES.longestMs)
    },
    over() {
      count = 0
    },
  }
}
