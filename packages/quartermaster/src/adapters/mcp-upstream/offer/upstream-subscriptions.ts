import { messageOf } from '../../../contracts/index.ts'
import type { Connection } from '../connection/connection.ts'
import type { Session } from '../peer/session.ts'

/** Subscribers to resources of a server, over all its connections. */
export interface UpstreamSubscriptions {
  /** Returns how to stop. Starts a sleeping server: otherwise it could not notify. */
  add(agent: string, uri: string, onUpdated: () => void): () => void
  /** Subscribes a new session, and tells subscribers that something may have changed before. */
  apply(connection: SubscriptionConnection, session: Session): void
  updated(connection: SubscriptionConnection, uri: string): void
  /** Whether any subscriber uses this connection. */
  isWatched(connection: SubscriptionConnection): boolean
  /** Agents may have other connections by now: subscribers move to theirs. */
  settle(): void
  /** This connection lost its slot: its subscribers wait for another one. */
  displaced(connection: SubscriptionConnection): void
  /** A slot may be free for subscribers without a connection. They get it in a moment. */
  roomMade(): void
  /** Another upstream replaces this one: subscribers move to it. */
  handOver(to: Pick<UpstreamSubscriptions, 'takeOver'>): void
  /** Takes the subscribers of the replaced upstream. */
  takeOver(subscribers: readonly Subscriber[]): void
}

interface UpstreamSubscriptionsDeps {
  /** The connection for an agent's subscriptions: it receives the agent's own notifications, and no one else's. */
  connectionOf(agent: string): SubscriptionConnection
  /** Whether it was not replaced. */
  isInUse(connection: SubscriptionConnection): boolean
  /** Logs a line for people who maintain the upstream. */
  note(text: string): void
}

export function createUpstreamSubscriptions(deps: UpstreamSubscriptionsDeps): UpstreamSubscriptions {
  const { connectionOf, isInUse, note } = deps
  /** Subscribers, and the connection of each; none while there is none to be had. */
  const places = new Map<Subscriber, SubscriptionConnection | undefined>()
  const byConnection = createSubscribers()
  let isRoomDue = false

  function hear(connection: SubscriptionConnection): void {
    const session = connection.session()
    if (session) session.watch(byConnection.wanted(connection))
    else if (byConnection.isAny(connection)) connection.start()
  }

  /** A replaced connection is asked nothing more, and its notifications are dropped. */
  function hearLess(connection: SubscriptionConnection): void {
    if (isInUse(connection)) connection.session()?.watch(byConnection.wanted(connection))
  }

  function place(subscriber: Subscriber, connection: SubscriptionConnection | undefined): void {
    places.set(subscriber, connection)
    if (connection) byConnection.add(connection, subscriber)
    subscriber.stop = () => remove(subscriber)
  }

  function remove(subscriber: Subscriber): void {
    const connection = places.get(subscriber)
    places.delete(subscriber)
    if (!connection || !byConnection.remove(connection, subscriber)) return
    hearLess(connection)
    roomMade()
  }

  /** Without a free slot for another connection a subscriber goes on waiting. */
  function find(subscriber: Subscriber, found = new Map<string, Found>()): SubscriptionConnection | undefined {
    const { agent, uri } = subscriber
    const { connection, why } = found.get(agent) ?? look(agent)
    found.set(agent, { connection, why })
    if (why !== undefined && !isWaiting(subscriber)) note(`[${agent}] Nothing is heard of changes at "${uri}": ${why}`)
    return connection
  }

  function look(agent: string): Found {
    try {
      return { connection: connectionOf(agent) }
    } catch (error) {
      return { why: messageOf(error) }
    }
  }

  const isWaiting = (subscriber: Subscriber) => places.has(subscriber) && places.get(subscriber) === undefined

  function settle(): void {
    const found = new Map<string, Found>()
    const moved: Subscriber[] = []
    const before = new Set<SubscriptionConnection>()
    for (const [subscriber, connection] of [...places]) {
      const next = find(subscriber, found)
      if (next === connection) continue
      if (connection && byConnection.remove(connection, subscriber)) before.add(connection)
      place(subscriber, next)
      moved.push(subscriber)
    }
    for (const connection of before) hearLess(connection)
    begin(moved)
  }

  /** Later: the caller that freed the slot may be about to use it, and slots may be freed while others are assigned. */
  function roomMade(): void {
    if (isRoomDue || ![...places.keys()].some(isWaiting)) return
    isRoomDue = true
    queueMicrotask(() => {
      isRoomDue = false
      settle()
    })
  }

  /**
   * Tells new subscribers of a running session that something may have changed. The others are told by their next
   * session.
   */
  function begin(subscribers: readonly Subscriber[]): void {
    for (const connection of new Set(subscribers.map(one => places.get(one)))) if (connection) hear(connection)
    tellAll(subscribers.filter(one => places.get(one)?.session()))
  }

  return {
    add(agent, uri, onUpdated) {
      const subscriber: Subscriber = { agent, uri, tell: safely(onUpdated, note), stop() {} }
      const connection = find(subscriber)
      const isNew = connection && byConnection.at(connection, uri).length === 0
      place(subscriber, connection)
      if (isNew) hear(connection)
      return () => subscriber.stop()
    },
    apply(connection, session) {
      if (!byConnection.isAny(connection)) return
      session.watch(byConnection.wanted(connection))
      tellAll(byConnection.all(connection))
    },
    updated: (connection, uri) => tellAll(byConnection.at(connection, uri)),
    isWatched: byConnection.isAny,
    settle,
    displaced(connection) {
      const left = byConnection.all(connection)
      for (const subscriber of left) {
        byConnection.remove(connection, subscriber)
        places.set(subscriber, undefined)
      }
      for (const agent of new Set(left.map(one => one.agent)))
        note(
          `[${agent}] Nothing is heard of changes for now: a call of another agent needed the place of its connection.`,
        )
    },
    roomMade,
    handOver(to) {
      const left = [...places.keys()]
      // The server is not told: a replaced connection is asked nothing more, and its notifications are dropped.
      places.clear()
      byConnection.clear()
      to.takeOver(left)
    },
    takeOver(more) {
      for (const subscriber of more) place(subscriber, find(subscriber))
      begin(more)
    },
  }
}

/** Where an agent subscribes, or why it cannot. */
interface Found {
  readonly connection?: SubscriptionConnection | undefined
  readonly why?: string | undefined
}

/** Changes while no session listened are unknown. */
function tellAll(subscribers: readonly Subscriber[]): void {
  for (const { tell } of subscribers) tell()
}

/** A subscriber that throws must not affect the server or other subscribers. */
function safely(onUpdated: () => void, note: (text: string) => void): () => void {
  return () => {
    try {
      onUpdated()
    } catch (error) {
      note(`A subscriber could not be notified of a change: ${messageOf(error)}`)
    }
  }
}

/** A connection, as far as subscriptions need it. */
export type SubscriptionConnection = Pick<Connection, 'session' | 'start'>

interface Subscriber {
  readonly agent: string
  readonly uri: string
  tell(): void
  /** Unsubscribes it where it is now. */
  stop(): void
}

/** The subscribers by connection and address. */
interface Subscribers {
  add(connection: SubscriptionConnection, subscriber: Subscriber): void
  /** Answers whether that was the last one at its address. */
  remove(connection: SubscriptionConnection, subscriber: Subscriber): boolean
  wanted(connection: SubscriptionConnection): ReadonlySet<string>
  at(connection: SubscriptionConnection, uri: string): readonly Subscriber[]
  all(connection: SubscriptionConnection): readonly Subscriber[]
  isAny(connection: SubscriptionConnection): boolean
  clear(): void
}

function createSubscribers(): Subscribers {
  const known = new Map<SubscriptionConnection, Map<string, Set<Subscriber>>>()
  return {
    add(connection, subscriber) {
      const byUri = known.get(connection) ?? new Map<string, Set<Subscriber>>()
      known.set(connection, byUri)
      byUri.set(subscriber.uri, (byUri.get(subscriber.uri) ?? new Set()).add(subscriber))
    },
    remove(connection, subscriber) {
      const byUri = known.get(connection)
      const own = byUri?.get(subscriber.uri)
      if (!byUri || !own?.delete(subscriber) || own.size > 0) return false
      byUri.delete(subscriber.uri)
      if (byUri.size === 0) known.delete(connection)
      return true
    },
    wanted: connection => new Set(known.get(connection)?.keys()),
    at: (connection, uri) => [...(known.get(connection)?.get(uri) ?? [])],
    all: connection => [...(known.get(connection)?.values() ?? [])].flatMap(own => [...own]),
    isAny: connection => known.has(connection),
    clear: () => known.clear(),
  }
}
