import type { Clock } from '../../../core/kernel/index.ts'

/**
 * New sessions that are made because a server did not find a call, while it answered everything else. Some look at the session
 * of a call and of nothing else; others have something behind a tool that is not there. It outlives the sessions that it is about.
 */
export interface SessionTrials {
  /** Whether a new session may be tried now. Whoever is told so makes one. */
  begin(): boolean
}

/** A server may keep a state in its session, and behind a wrong gateway every call gets a 404. */
export const TRIAL_MS = 10 * 60_000

export function createSessionTrials(clock: Clock): SessionTrials {
  let quietUntil = 0
  return {
    begin() {
      const now = clock.now()
      if (now < quietUntil) return false
      quietUntil = now + TRIAL_MS
      return true
    },
  }
}
