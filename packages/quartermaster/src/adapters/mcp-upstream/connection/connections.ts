import { AppError } from '../../../contracts/index.ts'
import type { ProbeVerdict } from '../../../core/catalogue/index.ts'
import type { Connection, ProbeOptions } from './connection.ts'

/** The connections to one server: one for all agents, or one for each. */
export interface Connections {
  /** Shows what the server lists, and whether it works. */
  readonly main: Connection
  /** Checks whether the server works. The result of a connection that was replaced meanwhile is dropped. */
  probe(signal: AbortSignal, options?: ProbeOptions): Promise<ProbeVerdict>
  /** The connection for an agent's calls. A call may evict any connection without open calls, subscribed or not. */
  forCalls(agent: string): Connection
  /** The connection for an agent's subscriptions. It evicts no connection that is used or waited for. */
  forSubscriptions(agent: string): Connection
  own(agent: string): Connection | undefined
  all(): readonly Connection[]
  /** Includes replaced connections that still have open requests. */
  allWithDraining(): readonly Connection[]
  byAgent(): ReadonlyMap<string, Connection>
  /** The last error on any connection; errors that persist come first. */
  lastError(): ReturnType<Connection['lastError']>
  /**
   * From now on every agent has its own connection. After `refused`, a new shared login may end that; where questions
   * of several clients collided (`crowded`) they would collide again.
   */
  separate(why: Separation): void
  isSeparate(): boolean
  /** Ends open requests, also on replaced connections, and starts again. */
  restart(): Promise<void>
  /** Open requests, including those on replaced connections. */
  busy(): number
  /** A person or an agent signed in or out: requests use new connections, and open requests finish on the old ones. */
  onLoginChanged(agent: string | undefined): void
  /** The agent lost this upstream: its own connection ends once its open requests have. */
  revokeAgent(agent: string): void
  /** Begins nothing new. Resolves when open requests have ended, and all connections with them. */
  drain(reason: string): Promise<void>
  /** Ends permanently and at once. Waiting callers and open requests are told why. */
  stop(reason: string): Promise<void>
}

export type Separation = 'crowded' | 'refused'

interface ConnectionsDeps {
  readonly upstream: string
  readonly isSeparate: boolean
  hasCredentials(agent: string): boolean
  isConnectedAs(agent: string): boolean
  hasSubscribers(connection: Connection): boolean
  /** The connection was ended to make room for another one. */
  onEvicted(connection: Connection): void
  onCreated(): void
  /** Makes a connection without starting it; the main one for no agent. */
  create(agent: string | undefined): Connection
}

/** Each connection may be a process. */
export const MOST_AGENTS = 64

export function createConnections(deps: ConnectionsDeps): Connections {
  const { upstream, hasCredentials, isConnectedAs, hasSubscribers, create } = deps
  let main = create(undefined)
  const own = new Map<string, Connection>()
  /** Replaced connections, until their open requests have ended. */
  const draining = new Map<Connection, Promise<void>>()
  const separations = new Set<Separation>()
  /** The number of the last call that got each connection. */
  const lastCall = new Map<Connection, number>()
  let calls = 0
  /** Why no more connections are made. */
  let closedReason: string | undefined

  function ownOf(agent: string, purpose: Purpose): Connection {
    const found = own.get(agent) ?? createOwn(agent, purpose)
    if (purpose === 'call') lastCall.set(found, ++calls)
    return found
  }

  function createOwn(agent: string, purpose: Purpose): Connection {
    if (closedReason === undefined) makeRoom(purpose)
    const made = create(agent)
    own.set(agent, made)
    // After the end a caller gets a connection that never starts and says why.
    if (closedReason !== undefined) void made.stop(closedReason)
    deps.onCreated()
    return made
  }

  function drainOne(connection: Connection, reason: string): void {
    const leaving = connection.drain(reason).finally(() => draining.delete(connection))
    draining.set(connection, leaving)
  }

  function drainOwn(agent: string, reason: string): void {
    const one = own.get(agent)
    if (!one) return
    own.delete(agent)
    lastCall.delete(one)
    drainOne(one, reason)
  }

  function replaceMain(): void {
    drainOne(main, LOGIN_CHANGED)
    main = create(undefined)
    main.start()
  }

  /**
   * Idle and unreachable connections go first. A subscription never ends, and would keep a call out permanently, so
   * calls evict subscribed connections as well.
   */
  function makeRoom(purpose: Purpose): void {
    if (own.size < MOST_AGENTS) return
    const unused = leastUsed(([, one]) => rank(one) < USED && !hasSubscribers(one))
    const found =
      unused ?? (purpose === 'call' ? leastUsed(([, one]) => hasSubscribers(one) && isUnused(one)) : undefined)
    if (!found)
      throw new AppError('RATE_LIMITED', `${MOST_AGENTS} agents use "${upstream}" already. Wait for one to be done.`)
    const [agent, connection] = found
    evict(agent, connection, 'Others needed its place.')
    deps.onEvicted(connection)
  }

  function leastUsed(isMeant: (one: [string, Connection]) => boolean): [string, Connection] | undefined {
    const calledAt = (one: Connection) => lastCall.get(one) ?? 0
    return [...own]
      .filter(isMeant)
      .toSorted(([, a], [, b]) => rank(a) - rank(b) || calledAt(a) - calledAt(b))
      .at(0)
  }

  function evict(agent: string, connection: Connection, reason: string): void {
    own.delete(agent)
    lastCall.delete(connection)
    void connection.stop(reason)
  }

  async function probe(signal: AbortSignal, options?: ProbeOptions): Promise<ProbeVerdict> {
    const looked = main
    const isOver = () => looked === main || signal.aborted
    try {
      const found = await looked.probe(signal, options)
      if (isOver()) return found
    } catch (error) {
      if (isOver()) throw error
    }
    return probe(signal, options)
  }

  const isSeparate = () => deps.isSeparate || separations.size > 0
  const isOwn = (agent: string) => isSeparate() || hasCredentials(agent)
  const connectionFor = (agent: string, purpose: Purpose) => (isOwn(agent) ? ownOf(agent, purpose) : main)
  const allWithDraining = () => [...new Set([main, ...own.values(), ...draining.keys()])]

  return {
    get main() {
      return main
    },
    probe,
    forCalls: agent => connectionFor(agent, 'call'),
    forSubscriptions: agent => connectionFor(agent, 'news'),
    own: agent => own.get(agent),
    all: () => [main, ...own.values()],
    allWithDraining,
    byAgent: () => own,
    lastError: () => latestError([main, ...own.values()].map(connection => connection.lastError())),
    separate: why => void separations.add(why),
    isSeparate,
    async restart() {
      for (const one of draining.keys()) void one.stop(RESTARTED)
      for (const [agent, connection] of own) if (!isOwn(agent)) evict(agent, connection, LOGIN_CHANGED)
      await Promise.all([main, ...own.values()].map(connection => connection.restart()))
    },
    busy: () => allWithDraining().reduce((sum, one) => sum + one.busy(), 0),
    onLoginChanged(agent) {
      if (closedReason !== undefined) return
      if (agent === undefined) separations.delete('refused')
      for (const one of agent === undefined ? [...own.keys()] : [agent]) drainOwn(one, LOGIN_CHANGED)
      // Other agents may use the shared connection, unless it was opened with this agent's credentials.
      if (agent === undefined || !main.session() || isConnectedAs(agent)) replaceMain()
    },
    revokeAgent(agent) {
      if (closedReason === undefined) drainOwn(agent, `It is not there for "${agent}" any more.`)
    },
    async drain(reason) {
      closedReason ??= reason
      for (const one of [main, ...own.values()]) drainOne(one, reason)
      await Promise.all(draining.values())
    },
    async stop(reason) {
      closedReason ??= reason
      await Promise.all(allWithDraining().map(connection => connection.stop(reason)))
    },
  }
}

function latestError(errors: readonly ReturnType<Connection['lastError']>[]): ReturnType<Connection['lastError']> {
  const standing = errors.filter(error => error?.isStanding)
  const among = standing.length > 0 ? standing : errors
  return among.reduce((last, error) => ((error?.at ?? 0) > (last?.at ?? 0) ? error : last), undefined)
}

const LOGIN_CHANGED = 'A person signed in or out there meanwhile.'
export const RESTARTED = 'It is being restarted.'

type Purpose = 'call' | 'news'

function isUnused(connection: Connection): boolean {
  return connection.busy() === 0 && !connection.hasWaiters()
}

const USED = 2

/** The eviction order. A caller may wait for a connection that is about to come back. */
function rank(connection: Connection): number {
  if (connection.hasWaiters()) return USED
  const { kind } = connection.state()
  if (kind === 'idle') return 0
  return kind === 'waiting' || kind === 'needsLogin' || kind === 'elsewhere' ? 1 : USED
}

/** Remembers which agent lost which server: requests begun before that are not sent again. */
export interface RevokedAgents {
  add(agent: string, upstream?: string): void
  /** Answers a function that tells whether the agent has lost the server since this call. */
  since(agent: string, upstream: string): () => boolean
}

/** Hardly any call stays open while so many agents lose something. */
const MOST = 10_000

export function createRevokedAgents(): RevokedAgents {
  let count = 0
  /** The newest dropped entry: for a request that began before it the answer is unknown, so nothing is sent. */
  let forgotten = 0
  /** The number of the last loss, by agent and server, or by agent where it lost all servers. */
  const last = new Map<string, number>()
  return {
    add(agent, upstream) {
      const key = keyOf(agent, upstream)
      // The oldest come first.
      last.delete(key)
      last.set(key, ++count)
      const [oldest] = last
      if (last.size <= MOST || !oldest) return
      last.delete(oldest[0])
      forgotten = oldest[1]
    },
    since(agent, upstream) {
      const before = count
      const isSince = (key: string) => (last.get(key) ?? 0) > before
      // Every call asks, and nearly always nothing was lost.
      return () => count > before && (forgotten > before || isSince(keyOf(agent)) || isSince(keyOf(agent, upstream)))
    },
  }
}

function keyOf(agent: string, upstream?: string): string {
  return upstream === undefined ? agent : `${agent}\n${upstream}`
}
