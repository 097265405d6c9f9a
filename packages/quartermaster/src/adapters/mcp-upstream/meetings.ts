import type { UpstreamConfig } from '../../contracts/index.ts'
import type { Clock } from '../../core/kernel/index.ts'
import type { Acquaintance } from './acquaintance.ts'
import { ChannelFailure, SendFailure } from './session/channel.ts'
import { openSession } from './session/open-session.ts'
import type { Era, Session, SessionEvents } from './session/session.ts'
import type { Target } from './target.ts'

/** Meets a server: as nobody in particular, or as an agent with credentials of its own. */
export interface Meetings {
  /** As nobody in particular, or as whoever is let in. */
  asAnybody(signal: AbortSignal): Promise<Session>
  as(agent: string, signal: AbortSignal): Promise<Session>
  /** Whether an agent has something of its own to show to the server. */
  hasCredentials(agent: string): boolean
  /** Somebody may have signed in since. */
  recall(): Promise<void>
}

export interface MeetingsDeps {
  readonly target: Target
  readonly client: { readonly name: string; readonly version: string }
  readonly clock: Clock
  readonly acquaintance: Acquaintance
  config(): UpstreamConfig
  /** From here on every agent has a connection of its own. */
  separate(): void
  /** What is done about what the server tells, on one of these connections. */
  eventsFor(agent: string | undefined): SessionEvents
}

export function createMeetings({ target, acquaintance, config, separate, ...deps }: MeetingsDeps): Meetings {
  const credentialed = new Set(Object.keys(config().agents))

  /** What is known about its era saves a question; where it does not hold any more it is found out anew. */
  async function meet(agent: string | undefined, signal: AbortSignal): Promise<Session> {
    const { era: wanted } = config()
    const era: Era | 'auto' = wanted === 'auto' ? (acquaintance.era() ?? 'auto') : wanted
    const options = { ...deps, era, open: target.open(agent), events: deps.eventsFor(agent) }
    try {
      const session = await openSession(options, signal)
      acquaintance.turnedOut(session.facts.era)
      return session
    } catch (error) {
      acquaintance.turnedOut(undefined)
      throw error
    }
  }

  return {
    /**
     * A server that lets nobody in without credentials is asked what it has with those of the first agent that has some.
     * Calls never go that way: from then on each agent has a connection of its own, with what it may show.
     */
    async asAnybody(signal) {
      try {
        return await meet(undefined, signal)
      } catch (error) {
        const [first] = credentialed
        if (first === undefined || !isUnauthorized(error)) throw error
        separate()
        return meet(first, signal)
      }
    },
    as: meet,
    hasCredentials: agent => credentialed.has(agent),
    async recall() {
      for (const agent of await target.agentsSignedIn()) credentialed.add(agent)
    },
  }
}

function isUnauthorized(error: unknown): boolean {
  if (error instanceof ChannelFailure) return error.end.kind === 'unauthorized'
  return error instanceof SendFailure && error.status === 401
}
