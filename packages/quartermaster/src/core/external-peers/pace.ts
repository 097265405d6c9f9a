import type { Random } from '../kernel/index.ts'

/** The first try again after a failure comes within this, and each further one within twice the time of the one before. */
const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 60_000
/** An agent that does not tell by itself is asked this soon, and less often while nothing changes. */
const FIRST_LOOK_MS = 500
const LONGEST_LOOK_MS = 15_000
/** While it waits for an answer that nobody has given yet. */
export const WAITING_LOOK_MS = 30_000

/** How long to wait after so many failures in a row. Not all at the same moment, when one that was gone is back. */
export function retryAfter(attempts: number, random: Random, wantedMs = 0): number {
  const most = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempts, 10))
  return Math.max(Math.round(most * (0.5 + random() / 2)), Math.min(wantedMs, LONGEST_RETRY_MS))
}

/** How long to wait before the next look at a task of which nothing new was heard so many times. */
export function lookAfter(quiet: number): number {
  return Math.round(Math.min(LONGEST_LOOK_MS, FIRST_LOOK_MS * 1.5 ** Math.min(quiet, 20)))
}
