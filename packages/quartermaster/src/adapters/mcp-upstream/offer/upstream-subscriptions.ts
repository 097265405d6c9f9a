import { messageOf } from '../../../contracts/index.ts'
import type { Connection } from '../connection/connection.ts'
import type { Session } from '../peer/session.ts'

/** Subscribers to resources of a server, over all its connections. */
export interface UpstreamSubscriptions {
  /** Returns how to stop. Starts a sleeping server, which could not notify otherwise. */
  add(agent: string, uri: string, onUpdated: () => void): () => void
  /** Subscribes a new session, and notifies subscribers that something may have changed before. */
  onConnected(connection: SubscriptionConnection, session: Session): void
  onUpdated(connection: SubscriptionConnection, uri: string): void
  hasSubscribers(connection: SubscriptionConnection): boolean
  /** Agents may have other connections by now: subscribers move to theirs. */
  reassign(): void
  /** Subscribers of an evicted connection wait for another one. */
  onEvicted(connection: SubscriptionConnection): void
  /** A slot may be free for subscribers without a connection. They get it in a moment. */
  onSlotFree(): void
  /** Moves all subscribers to the upstream that replaces this one. */
  handOver(to: Pick<UpstreamSubscriptions, 'takeOver'>): void
  takeOver(subscribers: readonly Subscriber[]): void
}

interface UpstreamSubscriptionsDeps {
  /** The connection for an agent's subscriptions: it receives the agent's own notifications, and no one else's. */
  connectionOf(agent: string): SubscriptionConnection
  isInUse(connection: SubscriptionConnection): boolean
  note(text: string): void
}

export function createUpstreamSubscriptions(deps: UpstreamSubscriptionsDeps): UpstreamSubscriptions {
  const { connectionOf, isInUse, note } = deps
  /** The connection of each subscriber; `undefined` while no slot is free. */
  const connections = new Map<Subscriber, SubscriptionConnection | undefined>()
  const byConnection = createSubscribers()
  let isRoomDue = false

  function subscribe(connection: SubscriptionConnection): void {
    const session = connection.session()
    if (session) session.subscribeTo(byConnection.wanted(connection))
    else if (byConnection.isAny(connection)) connection.start()
  }

  /** A replaced connection gets no more requests, and its notifications are dropped. */
  function unsubscribe(connection: SubscriptionConnection): void {
    if (isInUse(connection)) connection.session()?.subscribeTo(byConnection.wanted(connection))
  }

  function assign(subscriber: Subscriber, connection: SubscriptionConnection | undefined): void {
    connections.set(subscriber, connection)
    if (connection) byConnection.add(connection, subscriber)
    subscriber.stop = () => remove(subscriber)
  }

  function remove(subscriber: Subscriber): void {
    const connection = connections.get(subscriber)
    connections.delete(subscriber)
    if (!connection || !byConnection.remove(connection, subscriber)) return
    unsubscribe(connection)
    roomMade()
  }

  /** Without a free slot the subscriber goes on waiting. */
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

  const isWaiting = (subscriber: Subscriber) => connections.has(subscriber) && connections.get(subscriber) === undefined

  function reassign(): void {
    const found = new Map<string, Found>()
    const moved: Subscriber[] = []
    const before = new Set<SubscriptionConnection>()
    for (const [subscriber, connection] of [...connections]) {
      const next = find(subscriber, found)
      if (next === connection) continue
      if (connection && byConnection.remove(connection, subscriber)) before.add(connection)
      assign(subscriber, next)
      moved.push(subscriber)
    }
    for (const connection of before) unsubscribe(connection)
    begin(moved)
  }

  /**
   * In a microtask: the caller that freed the slot may be about to use it, and slots may be freed while others are
   * assigned.
   */
  function roomMade(): void {
    if (isRoomDue || ![...connections.keys()].some(isWaiting)) return
    isRoomDue = true
    queueMicrotask(() => {
      isRoomDue = false
      reassign()
    })
  }

  /**
   * Notifies new subscribers of a running session that something may have changed. The next session notifies the
   * others.
   */
  function begin(subscribers: readonly Subscriber[]): void {
    for (const connection of new Set(subscribers.map(one => connections.get(one))))
      if (connection) subscribe(connection)
    notifyAll(subscribers.filter(one => connections.get(one)?.session()))
  }

  return {
    add(agent, uri, onUpdated) {
      const subscriber: Subscriber = { agent, uri, notify: safely(onUpdated, note), stop() {} }
      const connection = find(subscriber)
      const isNew = connection && byConnection.at(connection, uri).length === 0
      assign(subscriber, connection)
      if (isNew) subscribe(connection)
      return () => subscriber.stop()
    },
    onConnected(connection, session) {
      if (!byConnection.isAny(connection)) return
      session.subscribeTo(byConnection.wanted(connection))
      notifyAll(byConnection.all(connection))
    },
    onUpdated: (connection, uri) => notifyAll(byConnection.at(connection, uri)),
    hasSubscribers: byConnection.isAny,
    reassign,
    onEvicted(connection) {
      const left = byConnection.all(connection)
      for (const subscriber of left) {
        byConnection.remove(connection, subscriber)
        connections.set(subscriber, undefined)
      }
      for (const agent of new Set(left.map(one => one.agent)))
        note(
          `[${agent}] Nothing is heard of changes for now: a call of another agent needed the place of its connection.`,
        )
    },
    onSlotFree: roomMade,
    handOver(to) {
      const left = [...connections.keys()]
      // The server is not told: a replaced connection gets no more requests, and its notifications are dropped.
      connections.clear()
      byConnection.clear()
      to.takeOver(left)
    },
    takeOver(more) {
      for (const subscriber of more) assign(subscriber, find(subscriber))
      begin(more)
    },
  }
}

/** The connection for an agent's subscriptions, or why there is none. */
interface Found {
  readonly connection?: SubscriptionConnection | undefined
  readonly why?: string | undefined
}

function notifyAll(subscribers: readonly Subscriber[]): void {
  for (const { notify } of subscribers) notify()
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

export type SubscriptionConnection = Pick<Connection, 'session' | 'start'>

interface Subscriber {
  readonly agent: string
  readonly uri: string
  notify(): void
  stop(): void
}

interface Subscribers {
  add(connection: SubscriptionConnection, subscriber: Subscriber): void
  /** Answers whether that was the last subscriber at its address. */
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
