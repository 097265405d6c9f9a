import { messageOf } from '../../../contracts/index.ts'
import type { Session } from '../session/session.ts'
import { createSubscribers, type Hearing, type Subscriber } from './subscribers.ts'

/** Who wants to hear of changes at which addresses of a server, over all its connections. */
export interface UpstreamSubscriptions {
  /** Returns how to stop. A server that sleeps is woken: it tells nobody of anything. */
  add(agent: string, uri: string, onUpdated: () => void): () => void
  /** Tells a new session what to listen for, and whoever waits that something may have changed before it did. */
  apply(connection: Hearing, session: Session): void
  updated(connection: Hearing, uri: string): void
  /** Whether anybody wants to hear of anything over it. */
  isWatched(connection: Hearing): boolean
  /** Agents may have other connections by now: whoever waits hears of changes on the one that they have. */
  settle(): void
  /** Others have the place of this connection: whoever heard of changes on it waits for another one. */
  displaced(connection: Hearing): void
  /** There may be room by now for those who wait for a connection. They get it in a moment. */
  roomMade(): void
  /** Another server is in the place of this one: whoever waits hears of changes from that one. */
  handOver(to: Pick<UpstreamSubscriptions, 'takeOver'>): void
  /** Has those wait here who waited at the one before. */
  takeOver(subscribers: readonly Subscriber[]): void
}

export interface UpstreamSubscriptionsDeps {
  /** The connection through which an agent's requests go: it hears what changes for itself, and nobody else. */
  connectionOf(agent: string): Hearing
  /** Whether there is no other in its place. */
  isInUse(connection: Hearing): boolean
  /** A line for people who look after the upstream. */
  note(text: string): void
}

export function createUpstreamSubscriptions(deps: UpstreamSubscriptionsDeps): UpstreamSubscriptions {
  const { connectionOf, isInUse, note } = deps
  /** Whoever waits, and where each hears of changes; nowhere while there is no connection to be had. */
  const places = new Map<Subscriber, Hearing | undefined>()
  const byConnection = createSubscribers()
  let isRoomDue = false

  function hear(connection: Hearing): void {
    const session = connection.session()
    if (session) session.watch(byConnection.wanted(connection))
    else if (byConnection.isAny(connection)) connection.start()
  }

  /** Of one that is left nothing more is asked, and what it still says reaches nobody. */
  function hearLess(connection: Hearing): void {
    if (isInUse(connection)) connection.session()?.watch(byConnection.wanted(connection))
  }

  function place(subscriber: Subscriber, connection: Hearing | undefined): void {
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

  /** Where there is no room for one more connection, whoever waits goes on waiting. */
  function find(subscriber: Subscriber, found = new Map<string, Found>()): Hearing | undefined {
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
    const before = new Set<Hearing>()
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

  /** Not at once: who has made the room may be about to use it, and it may be made while others are being given theirs. */
  function roomMade(): void {
    if (isRoomDue || ![...places.keys()].some(isWaiting)) return
    isRoomDue = true
    queueMicrotask(() => {
      isRoomDue = false
      settle()
    })
  }

  /** Tells those of them that something may have changed who hear of it from now on. The others are told by their next session. */
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
      // Its server is not told: nothing new is asked of one that is left, and what it still says reaches nobody.
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

/** Where an agent hears of changes, or why it does not. */
interface Found {
  readonly connection?: Hearing | undefined
  readonly why?: string | undefined
}

/** What happened while nobody listened nobody has told. */
function tellAll(subscribers: readonly Subscriber[]): void {
  for (const { tell } of subscribers) tell()
}

/** Whoever fails at what it hears takes the server from nobody, nor the news from those after it. */
function safely(onUpdated: () => void, note: (text: string) => void): () => void {
  return () => {
    try {
      onUpdated()
    } catch (error) {
      note(`Somebody who is subscribed could not be told of a change: ${messageOf(error)}`)
    }
  }
}
