import { createHash } from 'node:crypto'
import type { Clock } from '../../../core/kernel/index.ts'
import type { Request } from '../../mcp-wire/index.ts'

/**
 * New sessions that are made because a server did not find a request, while it answered what it lists. Some look at the session
 * of a call and of nothing else; others have something behind a tool that is not there. It outlives the sessions that it is about.
 */
export interface SessionTrials {
  /** A request was refused. Whether a new session may be tried for it now; whoever is told so makes one. */
  begin(request: Request): boolean
  /** A request was refused in the session for which a new one is made already. */
  join(request: Request): void
  /** A request was let in. Was it refused in the session before, the new one has helped. */
  letIn(request: Request): void
}

/** A session that has lived so long may be made anew without anybody waiting for it. */
export const SOONEST_TRIAL_MS = 5_000
/** A server may keep a state in its session, and behind a wrong gateway every call gets a 404. */
export const RAREST_TRIAL_MS = 10 * 60_000
/** A session in which no call is let in for so long is of use to nobody. */
export const USELESS_MS = 30_000
const GROWTH = 4

export function createSessionTrials(clock: Clock): SessionTrials {
  let begunAt = Number.NEGATIVE_INFINITY
  let pauseMs = 0
  let nextPauseMs = SOONEST_TRIAL_MS
  /** Since when no call is let in, where one was refused. */
  let refusedSince: number | undefined
  /** What was refused, as long as it is of interest how it fares in the new session. */
  const refused = new Set<string>()
  return {
    begin(request) {
      const now = clock.now()
      const quietUntil = begunAt + pauseMs
      refusedSince ??= now
      if (now < quietUntil && now - refusedSince < USELESS_MS) return false
      refusedSince = undefined
      const isLongAgo = now - quietUntil >= RAREST_TRIAL_MS
      pauseMs = isLongAgo ? SOONEST_TRIAL_MS : nextPauseMs
      nextPauseMs = Math.min(pauseMs * GROWTH, RAREST_TRIAL_MS)
      begunAt = now
      refused.clear()
      refused.add(digestOf(request))
      return true
    },
    join: request => void refused.add(digestOf(request)),
    letIn(request) {
      // On the way of every call. A listing tells of no call.
      if (refusedSince !== undefined && request.method === 'tools/call') refusedSince = undefined
      if (refused.size === 0) return
      const isQuiet = clock.now() < begunAt + pauseMs
      if (isQuiet && !refused.has(digestOf(request))) return
      refused.clear()
      if (isQuiet) pauseMs = nextPauseMs = SOONEST_TRIAL_MS
    },
  }
}

/** Arguments may be long. What is about one way of sending it, such as who hears of its progress, is not among it. */
function digestOf({ method, params: { _meta, ...params } = {} }: Request): string {
  return createHash('sha256')
    .update(JSON.stringify([method, params]))
    .digest('base64')
}
