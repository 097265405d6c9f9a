import type { Clock } from '../../../core/kernel/index.ts'
import type { Behind, LogLevel } from './session.ts'

/** Knows for whom a connection is at work, because what a server says in between does not tell. */
export interface BehindDesk {
  /** Somebody's request begins; answers how to end it. */
  enter(behind: Behind): () => void
  /** The newest request, when all that are under way are one caller's. */
  only(): Behind | 'nobody' | 'several'
  /** The server asks something; answers how to say that it has its answer. */
  asked(): () => void
  /** When it last waited for an answer: now, while it does. */
  owedAt(): number
  busy(): number
  /** Since when the oldest request is under way. */
  workingSince(): number | undefined
  /** When the last of them ended. */
  usedAt(): number
}

export function createBehindDesk(clock: Clock): BehindDesk {
  const underWay = new Map<Behind, number>()
  let used = clock.now()
  let questions = 0
  let owed = clock.now()
  return {
    enter(behind) {
      underWay.set(behind, clock.now())
      return () => {
        underWay.delete(behind)
        used = clock.now()
      }
    },
    only() {
      let newest: Behind | 'nobody' = 'nobody'
      for (const one of underWay.keys()) {
        if (newest !== 'nobody' && newest.caller !== one.caller) return 'several'
        newest = one
      }
      return newest
    },
    asked() {
      questions++
      return () => {
        questions--
        owed = clock.now()
      }
    },
    owedAt: () => (questions > 0 ? clock.now() : owed),
    busy: () => underWay.size,
    workingSince: () => underWay.values().next().value,
    usedAt: () => used,
  }
}

/** The eight levels of MCP as our four. */
export function toLogLevel(level: unknown): LogLevel {
  if (level === 'debug') return 'debug'
  if (level === 'warning') return 'warn'
  return level === 'error' || level === 'critical' || level === 'alert' || level === 'emergency' ? 'error' : 'info'
}

/** What a line of a server's log says, in one line. */
export function logText(data: unknown): string {
  return typeof data === 'string' ? data : (JSON.stringify(data) ?? '')
}
