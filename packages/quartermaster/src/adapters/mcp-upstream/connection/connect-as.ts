import { messageOf, type UpstreamConfig } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import type { UpstreamMemory } from '../../../core/upstreams/index.ts'
import { ChannelFailure, SendFailure } from '../peer/channel.ts'
import { isAboutEras, openSession } from '../peer/open-session.ts'
import type { Era, Session, SessionEvents } from '../peer/session.ts'
import { NotRenewed } from '../transport/http-sender.ts'
import type { Target } from './target.ts'

/** Connects to a server without an agent's credentials, or as an agent with its own. */
export interface Connector {
  /** Without an agent's credentials, or as any agent that the server accepts. */
  asShared(events: SessionEvents, signal: AbortSignal): Promise<Session>
  as(agent: string, events: SessionEvents, signal: AbortSignal): Promise<Session>
  /** Whether the last shared connection used this agent's credentials. */
  isConnectedAs(agent: string): boolean
  hasCredentials(agent: string): boolean
  refreshLogins(): Promise<void>
}

interface ConnectorDeps {
  readonly target: Target
  readonly client: { readonly name: string; readonly version: string }
  readonly clock: Clock
  readonly serverFacts: ServerFacts
  config(): UpstreamConfig
  separate(): void
}

/**
 * A program may exit when it is addressed in a protocol era it does not know. Only every fourth attempt tries that: a
 * program that crashes should not be started twice per attempt.
 */
const RETRY_ERA_EVERY = 4

export function createConnector({ target, serverFacts, config, separate, ...deps }: ConnectorDeps): Connector {
  const configured = Object.keys(config().agents)
  let credentialed: ReadonlySet<string> = new Set(configured)
  let failures = 0
  let acceptedAgent: string | undefined
  /** The agent whose credentials the last shared connection used, if any. */
  let connectedAs: string | undefined

  /** A known era saves a request. If it is wrong by now it is detected again. */
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
      serverFacts.setEra(session.facts.era)
      failures = 0
      return session
    } catch (error) {
      failures++
      throw error
    }
  }

  /** One agent's refused key or unrenewable login does not keep the others from the server. */
  async function asAnyAgent(events: SessionEvents, signal: AbortSignal, first: unknown): Promise<Session> {
    const denials = [first]
    const known = acceptedAgent
    for (const agent of [...credentialed].toSorted((a, b) => Number(b === known) - Number(a === known))) {
      try {
        const session = await connect({ as: agent, events }, signal)
        acceptedAgent = agent
        connectedAs = agent
        return session
      } catch (error) {
        if (signal.aborted || !isAccessDenied(error)) throw error
        denials.push(error)
      }
    }
    throw await errorToReport(denials)
  }

  /**
   * The error to report to all agents. A person is asked to act only where waiting does not help: about the shared
   * credentials, which helps all agents, or else about the last agent.
   */
  async function errorToReport(turnedAway: readonly unknown[]): Promise<unknown> {
    const passing = turnedAway.find(isNotRenewed)
    if (passing !== undefined) return passing
    return turnedAway.at((await target.hasForAll()) ? 0 : -1)
  }

  return {
    /**
     * A server that requires credentials is listed with those of any agent that has some. Calls never use that
     * connection: each agent gets its own, and one that needs the shared credentials retries automatically.
     */
    async asShared(events, signal) {
      try {
        const session = await connect({ as: undefined, events }, signal)
        connectedAs = undefined
        return session
      } catch (error) {
        const isAboutUs = isUnauthorized(error) || isNotRenewed(error)
        if (credentialed.size === 0 || signal.aborted || !isAboutUs) throw error
        separate()
        return asAnyAgent(events, signal, error)
      }
    },
    as: (agent, events, signal) => connect({ as: agent, events }, signal),
    isConnectedAs: agent => connectedAs === agent,
    hasCredentials: agent => credentialed.has(agent),
    async refreshLogins() {
      credentialed = new Set([...configured, ...(await target.agentsSignedIn())])
    },
  }
}

/**
 * The agent whose credentials are sent, and the receiver of the server's notifications: the same agent only on its
 * own connection.
 */
interface ConnectOptions {
  readonly as: string | undefined
  readonly events: SessionEvents
}

/** Includes insufficient credentials, and such that could not be sent. */
function isAccessDenied(error: unknown): boolean {
  return isUnauthorized(error) || isNotRenewed(error) || (error instanceof SendFailure && error.status === 403)
}

/** Nothing was sent because no token could be obtained; the issuer may give one later. */
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
  setEra(era: Era): void
  /** Whether the server ever answered at its present command or address. */
  hasAnswered(): boolean
  knownSince(): number
  load(): Promise<void>
  save(session: Session): void
  saved(): Promise<void>
}

interface ServerFactsDeps {
  readonly name: string
  readonly memory: Pick<UpstreamMemory, 'recall' | 'remember'>
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
    setEra(next) {
      era = next
    },
    hasAnswered: () => isMet,
    knownSince: () => since,
    async load() {
      const known = await memory.recall(name)
      if (known?.fingerprint === fingerprint) {
        isMet = true
        era ??= known.era ?? undefined
      }
      since = known?.firstSeenAt ?? since
    },
    save({ facts: { era: spoken, server } }) {
      isMet = true
      const facts = { era: spoken, server: { ...server }, fingerprint }
      remembering = memory.remember(name, facts, since).catch(error => {
        // Losing the facts costs one request at the next start.
        note(`What it is could not be remembered: ${messageOf(error)}`)
      })
    },
    saved: async () => remembering,
  }
}
