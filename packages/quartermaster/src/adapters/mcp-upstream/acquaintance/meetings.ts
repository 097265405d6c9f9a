import type { UpstreamConfig } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import { NotRenewed } from '../http/http-auth.ts'
import { ChannelFailure, SendFailure } from '../session/channel.ts'
import { isAboutEras, openSession } from '../session/open-session.ts'
import type { Era, Session, SessionEvents } from '../session/session.ts'
import type { Target } from '../target/target.ts'
import type { Acquaintance } from './acquaintance.ts'

/** Meets a server: as nobody in particular, or as an agent with credentials of its own. */
export interface Meetings {
  /** As nobody in particular, or as whoever is let in. */
  asAnybody(events: SessionEvents, signal: AbortSignal): Promise<Session>
  as(agent: string, events: SessionEvents, signal: AbortSignal): Promise<Session>
  /** Whether it was met with what this agent has to show when it was last met as nobody in particular. */
  isMetAs(agent: string): boolean
  /** Whether an agent has something of its own to show to the server. */
  hasCredentials(agent: string): boolean
  /** Somebody may have signed in or out since. */
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
}

/**
 * A program that ends when it is spoken to in an era that it does not know has to be found out about; to start one that crashes
 * twice each time, once for each era, would be one start too many.
 */
const DOUBTED_EVERY = 4

export function createMeetings({ target, acquaintance, config, separate, ...deps }: MeetingsDeps): Meetings {
  const configured = Object.keys(config().agents)
  let credentialed: ReadonlySet<string> = new Set(configured)
  /** Meetings that have failed since the last that did not. */
  let doubts = 0
  /** Who was let in last where nobody is without credentials. */
  let welcome: string | undefined
  /** Whose credentials were shown when it was last met as nobody in particular, if they had to be. */
  let metAs: string | undefined

  /** What is known about its era saves a question; where it does not hold any more it is found out anew. */
  async function meet({ as: agent, events }: Meeting, signal: AbortSignal): Promise<Session> {
    const { era: wanted } = config()
    const isDoubted = doubts % DOUBTED_EVERY === 1
    const known = wanted === 'auto' && !isDoubted ? acquaintance.era() : undefined
    const open = (era: Era | 'auto') =>
      openSession({ ...deps, era, isRemembered: era === known, open: target.open(agent), events }, signal)
    try {
      const session = await open(known ?? wanted).catch(error => {
        // A program that ended is not started twice for it; that is left to the next attempt.
        if (known === undefined || signal.aborted || !isAboutEras(error)) throw error
        return open('auto')
      })
      acquaintance.turnedOut(session.facts.era)
      doubts = 0
      return session
    } catch (error) {
      doubts++
      throw error
    }
  }

  /** One whose key is no good, or whose login nobody can renew now, takes the server from nobody else. */
  async function asSomebody(events: SessionEvents, signal: AbortSignal, first: unknown): Promise<Session> {
    const turnedAway = [first]
    const known = welcome
    for (const agent of [...credentialed].toSorted((a, b) => Number(b === known) - Number(a === known))) {
      try {
        const session = await meet({ as: agent, events }, signal)
        welcome = agent
        metAs = agent
        return session
      } catch (error) {
        if (signal.aborted || !isTurnedAway(error)) throw error
        turnedAway.push(error)
      }
    }
    throw await tellingOf(turnedAway)
  }

  /**
   * Which of them everybody is told who comes now. What somebody has to do is said only where it cannot come right by itself. Then
   * it is about what there is for all, which helps everybody, and about the last agent where there is no such thing.
   */
  async function tellingOf(turnedAway: readonly unknown[]): Promise<unknown> {
    const passing = turnedAway.find(isNotRenewed)
    if (passing !== undefined) return passing
    return turnedAway.at((await target.hasForAll()) ? 0 : -1)
  }

  return {
    /**
     * A server that lets nobody in without credentials is asked what it has with those of an agent that has some, and so is one
     * to which those of all cannot be shown for now. Calls never go that way: from then on each agent has a connection of its own,
     * with what it may show, and one that has to show what all share tries that again by itself.
     */
    async asAnybody(events, signal) {
      try {
        const session = await meet({ as: undefined, events }, signal)
        metAs = undefined
        return session
      } catch (error) {
        const isAboutUs = isUnauthorized(error) || isNotRenewed(error)
        if (credentialed.size === 0 || signal.aborted || !isAboutUs) throw error
        separate()
        return asSomebody(events, signal, error)
      }
    },
    as: (agent, events, signal) => meet({ as: agent, events }, signal),
    isMetAs: agent => metAs === agent,
    hasCredentials: agent => credentialed.has(agent),
    async recall() {
      credentialed = new Set([...configured, ...(await target.agentsSignedIn())])
    },
  }
}

/** Whose credentials are shown, and who hears what the server tells: the same agent only on a connection of its own. */
interface Meeting {
  readonly as: string | undefined
  readonly events: SessionEvents
}

/** Also where credentials are known and no good for this, or could not be shown at all. */
function isTurnedAway(error: unknown): boolean {
  return isUnauthorized(error) || isNotRenewed(error) || (error instanceof SendFailure && error.status === 403)
}

/** Nothing was sent, for want of a token that its issuer may still give. */
function isNotRenewed(error: unknown): boolean {
  return error instanceof SendFailure && error.cause instanceof NotRenewed
}

function isUnauthorized(error: unknown): boolean {
  if (error instanceof ChannelFailure) return error.end.kind === 'unauthorized'
  return error instanceof SendFailure && error.status === 401
}
