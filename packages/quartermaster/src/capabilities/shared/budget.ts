import { setImmediate } from 'node:timers/promises'

type Stop = 'matches' | 'files' | 'bytes' | 'time'

/** The limits of one search. The search checks them often and yields to the rest of the process. */
export interface Budget {
  /** The limit that ended the search early. */
  readonly stoppedBy: Stop | undefined
  /** Whether the search has to stop; sets `stoppedBy`. */
  isUsedUp(): boolean
  spend(amounts: { files?: number; bytes?: number; matches?: number; characters?: number }): void
  /** Yields to the event loop from time to time. Throws when the call was cancelled. */
  breathe(): Promise<void>
}

// Beyond these limits a search returns its results so far, and says so.
const MOST_FILES = 50_000
const MOST_BYTES = 512 * 1024 * 1024
const MOST_CHARACTERS = 100_000
const MOST_MILLISECONDS = 15_000
// The share of the call's time for the search; the rest is for the answer.
const SHARE = 0.8
const TURN_MILLISECONDS = 10

export function createBudget(options: { matches: number; deadline: number; signal: AbortSignal }): Budget {
  const { matches, deadline, signal } = options
  const left = { matches, files: MOST_FILES, bytes: MOST_BYTES, characters: MOST_CHARACTERS }
  const started = Date.now()
  const end = started + Math.min(MOST_MILLISECONDS, (deadline - started) * SHARE)
  let turn = started
  let stoppedBy: Stop | undefined

  function firstUsedUp(): Stop | undefined {
    if (left.matches <= 0 || left.characters <= 0) return 'matches'
    if (left.files <= 0) return 'files'
    if (left.bytes <= 0) return 'bytes'
    return Date.now() >= end ? 'time' : undefined
  }

  return {
    get stoppedBy() {
      return stoppedBy
    },
    isUsedUp() {
      stoppedBy ??= firstUsedUp()
      return stoppedBy !== undefined
    },
    spend({ files = 0, bytes = 0, matches = 0, characters = 0 }) {
      left.files -= files
      left.bytes -= bytes
      left.matches -= matches
      left.characters -= characters
    },
    async breathe() {
      signal.throwIfAborted()
      if (Date.now() - turn < TURN_MILLISECONDS) return
      await setImmediate()
      turn = Date.now()
      signal.throwIfAborted()
    },
  }
}
