import type { Clock } from '../../../core/kernel/index.ts'
import type { Message, Request } from '../../mcp-wire/index.ts'

/**
 * What new sessions have come to that were made for a request which the server did not find, while it answered everything
 * else. Some look at the session of a call and of nothing else; others have something behind one tool that is not there.
 * It outlives the sessions that it is about.
 */
export interface SessionTrials {
  /** Whether a new session may be what this request wants. Whoever is told so makes one. */
  begin(request: Request): boolean
  /** A message was taken in. */
  taken(message: Message): void
}

/** For how long no other session is made where it is not known whether the last one helped, or it did not. */
export const TRIAL_MS = 10 * 60_000

export function createSessionTrials(clock: Clock): SessionTrials {
  /** What is not found in a new session either. */
  const missing = new Set<string>()
  let tried: { readonly kind: string; readonly text: string } | undefined
  let quietUntil = 0

  return {
    begin(request) {
      const [kind, text] = [kindOf(request), textOf(request)]
      if (tried?.text === text) {
        missing.add(kind)
        tried = undefined
      }
      if (missing.has(kind) || clock.now() < quietUntil) return false
      tried = { kind, text }
      quietUntil = clock.now() + TRIAL_MS
      return true
    },
    taken(message) {
      // Another request of the kind may be about something that is there.
      if (!tried || !('method' in message) || kindOf(message) !== tried.kind || textOf(message) !== tried.text) return
      tried = undefined
      quietUntil = 0
    },
  }
}

/** There are as many resources as anybody asks for; tools are few. */
function kindOf({ method, params }: Pick<Request, 'method' | 'params'>): string {
  return method === 'tools/call' ? `${method} ${String(params?.name)}` : method
}

/** What stays the same when it is sent again. */
function textOf({ method, params: { _meta, ...params } = {} }: Pick<Request, 'method' | 'params'>): string {
  return JSON.stringify([method, params])
}
