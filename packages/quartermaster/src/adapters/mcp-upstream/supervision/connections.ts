import { AppError } from '../../../contracts/index.ts'
import type { ProbeVerdict } from '../../../core/catalogue/index.ts'
import type { Connection, LookOptions } from './connection.ts'

/** The connections to one server: one for all, or one for each agent. */
export interface Connections {
  /** The one by which the server is known: what it lists, and whether it works. */
  readonly main: Connection
  /** Looks whether the server works. What is found on one that has lost its place meanwhile says nothing of the server. */
  look(signal: AbortSignal, options?: LookOptions): Promise<ProbeVerdict>
  /** The one through which an agent's requests go. A call finds room wherever no other call is under way for a subscriber. */
  of(agent: string): Connection
  /** The same, to hear of changes on: nobody loses anything for it that anybody uses or waits for. */
  toHear(agent: string): Connection
  /** The one that an agent has to itself, if there is one already. */
  own(agent: string): Connection | undefined
  all(): readonly Connection[]
  /** The same, and those in whose place there are others, until what they have under way has ended. */
  withLeft(): readonly Connection[]
  /** Those that agents have to themselves. */
  byAgent(): ReadonlyMap<string, Connection>
  /** The last that went wrong on any of them; what is not over comes first. */
  lastError(): ReturnType<Connection['lastError']>
  /**
   * From here on every agent has its own. What was `refused` without credentials may be let in once another login is there for
   * all; where clients were in each other's way (`crowded`) they would be again.
   */
  separate(why: Separation): void
  isSeparate(): boolean
  /** Ends what is under way, also on those that were left, and starts anew. */
  restart(): Promise<void>
  /** How many requests are under way on any of them, also on those that were left. */
  busy(): number
  /**
   * Somebody has signed in or out, or one agent has: from here on requests go over new connections. What is under way on those
   * before ends there.
   */
  exchange(agent: string | undefined): void
  /** It is not there for an agent any more: what it had to itself ends when what is under way there has. */
  dismiss(agent: string): void
  /** No new one is made, and nothing new is begun on any. Resolves when what was under way has ended, and so have they. */
  leave(reason: string): Promise<void>
  /** For good, and at once. Whoever waits for one of them, or has asked it something, is told why. */
  stop(reason: string): Promise<void>
}

export type Separation = 'crowded' | 'refused'

export interface ConnectionsDeps {
  readonly upstream: string
  readonly isSeparate: boolean
  /** Whether an agent brings credentials of its own. */
  hasCredentials(agent: string): boolean
  /** Whether the main one was opened with what this agent has to show. */
  isMetAs(agent: string): boolean
  /** Whether somebody waits to be told of changes on it. */
  isWatched(connection: Connection): boolean
  /** It was ended, and another one is about to have its place. */
  onDisplaced(connection: Connection): void
  /** An agent has one of its own. */
  onMade(): void
  /** Makes one that is not started yet; the main one for nobody. */
  create(agent: string | undefined): Connection
}

/** Each may be a process. */
export const MOST_AGENTS = 64

export function createConnections(deps: ConnectionsDeps): Connections {
  const { upstream, hasCredentials, isMetAs, isWatched, create } = deps
  let main = create(undefined)
  const own = new Map<string, Connection>()
  /** Those in whose place there are others, until what they have under way has ended. */
  const left = new Map<Connection, Promise<void>>()
  const separations = new Set<Separation>()
  /** In which order calls were given theirs, the latest last. */
  const called = new Map<Connection, number>()
  let calls = 0
  /** Why there are no more. */
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
    // Whoever asks for one after the end is told so by one that never begins.
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
    leaveOne(main, SIGNED_ANEW)
    main = create(undefined)
    main.start()
  }

  /**
   * Those that sleep cost nothing but their place; those that cannot be reached are of no use to anybody. Whoever is subscribed is
   * never done, and would keep a call out for ever.
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
  // Each once: after the end all of them were left.
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
      for (const one of left.keys()) void one.stop(STARTED_ANEW)
      for (const [agent, connection] of own) if (!isOwn(agent)) letGo(agent, connection, SIGNED_ANEW)
      await Promise.all([main, ...own.values()].map(connection => connection.restart()))
    },
    busy: () => withLeft().reduce((sum, one) => sum + one.busy(), 0),
    exchange(agent) {
      if (over !== undefined) return
      if (agent === undefined) separations.delete('refused')
      for (const one of agent === undefined ? [...own.keys()] : [agent]) leaveOwn(one, SIGNED_ANEW)
      // One that is there may be used by others, who have nothing to do with this, unless it was opened in the agent's name.
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

/** What those are told who still waited for the one before. */
const SIGNED_ANEW = 'Somebody has signed in or out there meanwhile.'
/** What those are told whose calls were under way on one that was left. */
export const STARTED_ANEW = 'It is started anew.'

/** What a connection is wanted for. */
type Purpose = 'call' | 'news'

/** Whether no call is under way on it, nor waits for it. */
function isAtRest(connection: Connection): boolean {
  return connection.busy() === 0 && !connection.isAwaited()
}

const USED = 2

/** What is let go of first. Whoever waits for one that is about to come back uses it. */
function rank(connection: Connection): number {
  if (connection.isAwaited()) return USED
  const { kind } = connection.state()
  if (kind === 'idle') return 0
  return kind === 'waiting' || kind === 'needsLogin' || kind === 'elsewhere' ? 1 : USED
}
