import { messageOf } from '../../../contracts/index.ts'
import type { Session } from '../session/session.ts'
import { createWishes, type Hearing, type Watcher } from './wishes.ts'

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
  takeOver(watchers: readonly Watcher[]): void
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
  const places = new Map<Watcher, Hearing | undefined>()
  const wishes = createWishes()
  let isRoomDue = false

  function hear(connection: Hearing): void {
    const session = connection.session()
    if (session) session.watch(wishes.wanted(connection))
    else if (wishes.isAny(connection)) connection.start()
  }

  /** Of one that is left nothing more is asked, and what it still says reaches nobody. */
  function hearLess(connection: Hearing): void {
    if (isInUse(connection)) connection.session()?.watch(wishes.wanted(connection))
  }

  function place(watcher: Watcher, connection: Hearing | undefined): void {
    places.set(watcher, connection)
    if (connection) wishes.add(connection, watcher)
    watcher.stop = () => remove(watcher)
  }

  function remove(watcher: Watcher): void {
    const connection = places.get(watcher)
    places.delete(watcher)
    if (!connection || !wishes.remove(connection, watcher)) return
    hearLess(connection)
    roomMade()
  }

  /** Where there is no room for one more connection, whoever waits goes on waiting. */
  function find(watcher: Watcher, found = new Map<string, Found>()): Hearing | undefined {
    const { agent, uri } = watcher
    const { connection, why } = found.get(agent) ?? look(agent)
    found.set(agent, { connection, why })
    if (why !== undefined && !isWaiting(watcher)) note(`[${agent}] Nothing is heard of changes at "${uri}": ${why}`)
    return connection
  }

  function look(agent: string): Found {
    try {
      return { connection: connectionOf(agent) }
    } catch (error) {
      return { why: messageOf(error) }
    }
  }

  const isWaiting = (watcher: Watcher) => places.has(watcher) && places.get(watcher) === undefined

  function settle(): void {
    const found = new Map<string, Found>()
    const moved: Watcher[] = []
    const before = new Set<Hearing>()
    for (const [watcher, connection] of [...places]) {
      const next = find(watcher, found)
      if (next === connection) continue
      if (connection && wishes.remove(connection, watcher)) before.add(connection)
      place(watcher, next)
      moved.push(watcher)
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
  function begin(watchers: readonly Watcher[]): void {
    for (const connection of new Set(watchers.map(one => places.get(one)))) if (connection) hear(connection)
    tellAll(watchers.filter(one => places.get(one)?.session()))
  }

  return {
    add(agent, uri, onUpdated) {
      const watcher: Watcher = { agent, uri, tell: safely(onUpdated, note), stop() {} }
      const connection = find(watcher)
      const isNew = connection && wishes.at(connection, uri).length === 0
      place(watcher, connection)
      if (isNew) hear(connection)
      return () => watcher.stop()
    },
    apply(connection, session) {
      if (!wishes.isAny(connection)) return
      session.watch(wishes.wanted(connection))
      tellAll(wishes.all(connection))
    },
    updated: (connection, uri) => tellAll(wishes.at(connection, uri)),
    isWatched: wishes.isAny,
    settle,
    displaced(connection) {
      const left = wishes.all(connection)
      for (const watcher of left) {
        wishes.remove(connection, watcher)
        places.set(watcher, undefined)
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
      wishes.clear()
      to.takeOver(left)
    },
    takeOver(more) {
      for (const watcher of more) place(watcher, find(watcher))
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
function tellAll(watchers: readonly Watcher[]): void {
  for (const { tell } of watchers) tell()
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
