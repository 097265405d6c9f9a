import { messageOf, type UpstreamConfig } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import type { UpstreamMemory } from '../../../core/upstreams/index.ts'
import { ChannelFailure, SendFailure } from '../peer/channel.ts'
import { isAboutEras, openSession } from '../peer/open-session.ts'
import type { Era, Session, SessionEvents } from '../peer/session.ts'
import { NotRenewed } from '../transport/http-auth.ts'
import type { Target } from './target.ts'

/** Connects to a server without an agent's credentials, or as an agent with its own. */
export interface Connector {
  /** Without an agent's credentials, or as any agent the server accepts. */
  asShared(events: SessionEvents, signal: AbortSignal): Promise<Session>
  as(agent: string, events: SessionEvents, signal: AbortSignal): Promise<Session>
  /** Whether the last connection for all agents used this agent's credentials. */
  isMetAs(agent: string): boolean
  /** Whether an agent has credentials of its own for this server. */
  hasCredentials(agent: string): boolean
  /** A person may have signed in or out since. */
  recall(): Promise<void>
}

interface ConnectorDeps {
  readonly target: Target
  readonly client: { readonly name: string; readonly version: string }
  readonly clock: Clock
  readonly serverFacts: ServerFacts
  config(): UpstreamConfig
  /** From now on every agent has its own connection. */
  separate(): void
}

/**
 * A program may exit when it is addressed in a protocol era it does not know. Only every fourth attempt tries that out:
 * a program that crashes should not be started twice for every attempt.
 */
const RETRY_ERA_EVERY = 4

export function createConnector({ target, serverFacts, config, separate, ...deps }: ConnectorDeps): Connector {
  const configured = Object.keys(config().agents)
  let credentialed: ReadonlySet<string> = new Set(configured)
  let failures = 0
  /** The agent accepted last, where the server requires credentials. */
  let acceptedAgent: string | undefined
  /** The agent whose credentials the last connection for all agents used, if it needed any. */
  let metAs: string | undefined

  /** A known era saves a request. Where it is no longer right it is detected again. */
  async function connect({ as: agent, events }: ConnectOptions, signal: AbortSignal): Promise<Session> {
    const { era: wanted } = config()
    const isEraRetried = failures % RETRY_ERA_EVERY === 1
    const known = wanted === 'auto' && !isEraRetried ? serverFacts.era() : undefined
    const open = (era: Era | 'auto') =>
      openSession({ ...deps, era, isRemembered: era === known, open: target.open(agent), events }, signal)
    try {
      const session = await open(known ?? wanted).catch(error => {
        // A program that exited is not started twice in one attempt.
        if (known === undefined || signal.aborted || !isAboutEras(error)) throw error
        return open('auto')
      })
      serverFacts.turnedOut(session.facts.era)
      failures = 0
      return session
    } catch (error) {
      failures++
      throw error
    }
  }

  /** An agent whose key is refused, or whose login cannot be renewed now, does not keep the others from the server. */
  async function asAnyAgent(events: SessionEvents, signal: AbortSignal, first: unknown): Promise<Session> {
    const turnedAway = [first]
    const known = acceptedAgent
    for (const agent of [...credentialed].toSorted((a, b) => Number(b === known) - Number(a === known))) {
      try {
        const session = await connect({ as: agent, events }, signal)
        acceptedAgent = agent
        metAs = agent
        return session
      } catch (error) {
        if (signal.aborted || !isTurnedAway(error)) throw error
        turnedAway.push(error)
      }
    }
    throw await errorToReport(turnedAway)
  }

  /**
   * The error to report to all agents. A person is asked to act only where waiting does not help: about the shared
   * credentials, which helps all agents, or about the last agent where there are none.
   */
  async function errorToReport(turnedAway: readonly unknown[]): Promise<unknown> {
    const passing = turnedAway.find(isNotRenewed)
    if (passing !== undefined) return passing
    return turnedAway.at((await target.hasForAll()) ? 0 : -1)
  }

  return {
    /**
     * A server that refuses requests without credentials, or to which the shared ones cannot be sent now, is listed
     * with those of an agent that has some. Calls never use that connection: each agent gets its own, and one that
     * needs the shared credentials retries automatically.
     */
    async asShared(events, signal) {
      try {
        const session = await connect({ as: undefined, events }, signal)
        metAs = undefined
        return session
      } catch (error) {
        const isAboutUs = isUnauthorized(error) || isNotRenewed(error)
        if (credentialed.size === 0 || signal.aborted || !isAboutUs) throw error
        separate()
        return asAnyAgent(events, signal, error)
      }
    },
    as: (agent, events, signal) => connect({ as: agent, events }, signal),
    isMetAs: agent => metAs === agent,
    hasCredentials: agent => credentialed.has(agent),
    async recall() {
      credentialed = new Set([...configured, ...(await target.agentsSignedIn())])
    },
  }
}

/**
 * Whose credentials are sent, and who receives the server's notifications: the same agent only on its own connection.
 */
interface ConnectOptions {
  readonly as: string | undefined
  readonly events: SessionEvents
}

/** Also where credentials are known but insufficient, or could not be sent. */
function isTurnedAway(error: unknown): boolean {
  return isUnauthorized(error) || isNotRenewed(error) || (error instanceof SendFailure && error.status === 403)
}

/** Nothing was sent because no token could be obtained now; its issuer may still give one. */
function isNotRenewed(error: unknown): boolean {
  return error instanceof SendFailure && error.cause instanceof NotRenewed
}

function isUnauthorized(error: unknown): boolean {
  if (error instanceof ChannelFailure) return error.end.kind === 'unauthorized'
  return error instanceof SendFailure && error.status === 401
}

/** Persisted facts about an upstream: protocol era, first start time. */
export interface ServerFacts {
  era(): Era | undefined
  turnedOut(era: Era): void
  /** Whether it has ever answered at its present command or address. */
  isMet(): boolean
  since(): number
  recall(): Promise<void>
  /** Persists the facts in the background. */
  remember(session: Session): void
  settled(): Promise<void>
}

interface ServerFactsDeps {
  readonly name: string
  readonly memory: Pick<UpstreamMemory, 'recall' | 'remember'>
  /** Another command or address may be another server. */
  readonly fingerprint: string
  readonly mountedAt: number
  note(text: string): void
}

export function createServerFacts({ name, memory, fingerprint, mountedAt, note }: ServerFactsDeps): ServerFacts {
  let era: Era | undefined
  let isMet = false
  let since = mountedAt
  let remembering: Promise<void> | undefined
  return {
    era: () => era,
    turnedOut(next) {
      era = next
    },
    isMet: () => isMet,
    since: () => since,
    async recall() {
      const known = await memory.recall(name)
      if (known?.fingerprint === fingerprint) {
        isMet = true
        era ??= known.era ?? undefined
      }
      since = known?.firstSeenAt ?? since
    },
    remember({ facts: { era: spoken, server } }) {
      isMet = true
      const facts = { era: spoken, server: { ...server }, fingerprint }
      remembering = memory.remember(name, facts, since).catch(error => {
        // Losing this costs one request at the next start.
        note(`What it is could not be remembered: ${messageOf(error)}`)
      })
    },
    settled: async () => remembering,
  }
}
