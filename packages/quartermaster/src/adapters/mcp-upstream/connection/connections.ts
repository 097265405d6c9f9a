import { AppError } from '../../../contracts/index.ts'
import type { ProbeVerdict } from '../../../core/catalogue/index.ts'
import type { Connection, LookOptions } from './connection.ts'

/** The connections to one server: one for all agents, or one for each. */
export interface Connections {
  /** The one by which the server is known: what it lists, and whether it works. */
  readonly main: Connection
  /** Checks whether the server works. A result from a connection that was replaced meanwhile is not used. */
  look(signal: AbortSignal, options?: LookOptions): Promise<ProbeVerdict>
  /**
   * The connection for an agent's requests. A call may displace any connection without open calls, subscribed or not.
   */
  of(agent: string): Connection
  /** The connection for an agent's subscriptions. It displaces no connection that is used or waited for. */
  toHear(agent: string): Connection
  own(agent: string): Connection | undefined
  all(): readonly Connection[]
  /** All connections, including replaced ones that still have open requests. */
  withLeft(): readonly Connection[]
  byAgent(): ReadonlyMap<string, Connection>
  /** The last error on any of them; errors that persist come first. */
  lastError(): ReturnType<Connection['lastError']>
  /**
   * From now on every agent has its own connection. After `refused`, a new shared login may end that; where clients
   * were in each other's way (`crowded`) they would be again.
   */
  separate(why: Separation): void
  isSeparate(): boolean
  /** Ends open requests, also on replaced connections, and starts again. */
  restart(): Promise<void>
  /** Requests in progress on any of them, including replaced ones. */
  busy(): number
  /**
   * A person or an agent signed in or out: from now on requests use new connections. Open requests finish on the old
   * ones.
   */
  exchange(agent: string | undefined): void
  /** The agent lost this upstream: its own connection ends once its open requests have. */
  dismiss(agent: string): void
  /**
   * No connection is made and nothing is begun. Resolves when open requests have ended, and all connections with them.
   */
  leave(reason: string): Promise<void>
  /** Permanently and immediately. Waiting callers and open requests are told why. */
  stop(reason: string): Promise<void>
}

export type Separation = 'crowded' | 'refused'

interface ConnectionsDeps {
  readonly upstream: string
  readonly isSeparate: boolean
  /** Whether an agent has its own credentials. */
  hasCredentials(agent: string): boolean
  /** Whether the main connection was opened with this agent's credentials. */
  isMetAs(agent: string): boolean
  /** Whether a subscriber waits for notifications on it. */
  isWatched(connection: Connection): boolean
  /** It was ended to make room for another one. */
  onDisplaced(connection: Connection): void
  /** An agent has its own connection now. */
  onMade(): void
  /** Makes a connection that is not started yet; the main one for no agent. */
  create(agent: string | undefined): Connection
}

/** Each may be a process. */
export const MOST_AGENTS = 64

export function createConnections(deps: ConnectionsDeps): Connections {
  const { upstream, hasCredentials, isMetAs, isWatched, create } = deps
  let main = create(undefined)
  const own = new Map<string, Connection>()
  /** Replaced connections, until their open requests have ended. */
  const left = new Map<Connection, Promise<void>>()
  const separations = new Set<Separation>()
  /** When calls last got each of them, the latest last. */
  const called = new Map<Connection, number>()
  let calls = 0
  /** Why there will be no more. */
  let over: string | undefined

  function ownOf(agent: string, purpose: Purpose): Connection {
    const found = own.get(agent) ?? makeOwn(agent, purpose)
    if (purpose === 'call') called.set(found, ++calls)
    return found
  }

  function makeOwn(agent: string, purpose: Purpose): Connection {
    if (over === undefined) makeRoom(purpose)
    const made = create(agent)
    own.set(agent, made)
    // After the end a caller gets one that never begins and says why.
    if (over !== undefined) void made.stop(over)
    deps.onMade()
    return made
  }

  function leaveOne(connection: Connection, reason: string): void {
    const leaving = connection.leave(reason).finally(() => left.delete(connection))
    left.set(connection, leaving)
  }

  function leaveOwn(agent: string, reason: string): void {
    const one = own.get(agent)
    if (!one) return
    own.delete(agent)
    called.delete(one)
    leaveOne(one, reason)
  }

  function exchangeMain(): void {
    leaveOne(main, LOGIN_CHANGED)
    main = create(undefined)
    main.start()
  }

  /**
   * Idle connections cost only their slot, and unreachable ones are of no use. A subscription never ends, and would
   * keep a call out permanently.
   */
  function makeRoom(purpose: Purpose): void {
    if (own.size < MOST_AGENTS) return
    const unused = leastUsed(([, one]) => rank(one) < USED && !isWatched(one))
    const found = unused ?? (purpose === 'call' ? leastUsed(([, one]) => isWatched(one) && isAtRest(one)) : undefined)
    if (!found)
      throw new AppError('RATE_LIMITED', `${MOST_AGENTS} agents use "${upstream}" already. Wait for one to be done.`)
    const [agent, connection] = found
    letGo(agent, connection, 'Others needed its place.')
    deps.onDisplaced(connection)
  }

  function leastUsed(isMeant: (one: [string, Connection]) => boolean): [string, Connection] | undefined {
    const calledAt = (one: Connection) => called.get(one) ?? 0
    return [...own]
      .filter(isMeant)
      .toSorted(([, a], [, b]) => rank(a) - rank(b) || calledAt(a) - calledAt(b))
      .at(0)
  }

  function letGo(agent: string, connection: Connection, reason: string): void {
    own.delete(agent)
    called.delete(connection)
    void connection.stop(reason)
  }

  async function look(signal: AbortSignal, options?: LookOptions): Promise<ProbeVerdict> {
    const looked = main
    const isOver = () => looked === main || signal.aborted
    try {
      const found = await looked.look(signal, options)
      if (isOver()) return found
    } catch (error) {
      if (isOver()) throw error
    }
    return look(signal, options)
  }

  const isSeparate = () => deps.isSeparate || separations.size > 0
  const isOwn = (agent: string) => isSeparate() || hasCredentials(agent)
  const oneFor = (agent: string, purpose: Purpose) => (isOwn(agent) ? ownOf(agent, purpose) : main)
  // Each once: after the end all of them are among the replaced.
  const withLeft = () => [...new Set([main, ...own.values(), ...left.keys()])]

  return {
    get main() {
      return main
    },
    look,
    of: agent => oneFor(agent, 'call'),
    toHear: agent => oneFor(agent, 'news'),
    own: agent => own.get(agent),
    all: () => [main, ...own.values()],
    withLeft,
    byAgent: () => own,
    lastError: () => lastOf([main, ...own.values()].map(connection => connection.lastError())),
    separate: why => void separations.add(why),
    isSeparate,
    async restart() {
      for (const one of left.keys()) void one.stop(RESTARTED)
      for (const [agent, connection] of own) if (!isOwn(agent)) letGo(agent, connection, LOGIN_CHANGED)
      await Promise.all([main, ...own.values()].map(connection => connection.restart()))
    },
    busy: () => withLeft().reduce((sum, one) => sum + one.busy(), 0),
    exchange(agent) {
      if (over !== undefined) return
      if (agent === undefined) separations.delete('refused')
      for (const one of agent === undefined ? [...own.keys()] : [agent]) leaveOwn(one, LOGIN_CHANGED)
      // A shared connection may be used by other agents, unless it was opened with this agent's credentials.
      if (agent === undefined || !main.session() || isMetAs(agent)) exchangeMain()
    },
    dismiss(agent) {
      if (over === undefined) leaveOwn(agent, `It is not there for "${agent}" any more.`)
    },
    async leave(reason) {
      over ??= reason
      for (const one of [main, ...own.values()]) leaveOne(one, reason)
      await Promise.all(left.values())
    },
    async stop(reason) {
      over ??= reason
      await Promise.all(withLeft().map(connection => connection.stop(reason)))
    },
  }
}

function lastOf(errors: readonly ReturnType<Connection['lastError']>[]): ReturnType<Connection['lastError']> {
  const standing = errors.filter(error => error?.isStanding)
  const among = standing.length > 0 ? standing : errors
  return among.reduce((last, error) => ((error?.at ?? 0) > (last?.at ?? 0) ? error : last), undefined)
}

/** Tells callers that still waited for the old connection. */
const LOGIN_CHANGED = 'A person signed in or out there meanwhile.'
/** Tells callers whose requests were open on a replaced connection. */
export const RESTARTED = 'It is being restarted.'

type Purpose = 'call' | 'news'

/** Whether no call is open on it or waits for it. */
function isAtRest(connection: Connection): boolean {
  return connection.busy() === 0 && !connection.isAwaited()
}

const USED = 2

/** Which to displace first. A caller may wait for one that is about to come back. */
function rank(connection: Connection): number {
  if (connection.isAwaited()) return USED
  const { kind } = connection.state()
  if (kind === 'idle') return 0
  return kind === 'waiting' || kind === 'needsLogin' || kind === 'elsewhere' ? 1 : USED
}
