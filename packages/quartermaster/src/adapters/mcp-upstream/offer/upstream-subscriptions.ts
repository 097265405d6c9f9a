import type { Session } from '../session/session.ts'
import type { Connection } from '../supervision/connection.ts'

/** Who wants to hear of changes at which addresses of a server, over all its connections. */
export interface UpstreamSubscriptions {
  /** Returns how to stop. A server that sleeps is woken: it tells nobody of anything. */
  add(uri: string, onUpdated: () => void): () => void
  /** Tells a new session what to listen for, and whoever waits that something may have changed before it did. */
  apply(session: Session): void
  updated(uri: string): void
  /** Whether anybody wants to hear of anything. */
  isWatched(): boolean
  /** Another server is in the place of this one: whoever waits hears of changes from that one. */
  handOver(to: Pick<UpstreamSubscriptions, 'takeOver'>): void
  /** Has those wait here who waited at the one before. */
  takeOver(watchers: readonly Watcher[]): void
}

/** One who wants to hear of an address. */
interface Watcher {
  readonly uri: string
  tell(): void
  /** Ends it at the server where it is now. */
  stop(): void
}

/** Changes are told on the connection by which a server is known. */
export function createUpstreamSubscriptions(main: () => Pick<Connection, 'session' | 'start'>): UpstreamSubscriptions {
  const watchers = new Map<string, Set<Watcher>>()
  const wanted = () => new Set(watchers.keys())
  const all = () => [...watchers.values()].flatMap(own => [...own])

  function hear(): void {
    const session = main().session()
    if (session) session.watch(wanted())
    else main().start()
  }

  function place(watcher: Watcher): void {
    const own = watchers.get(watcher.uri) ?? new Set()
    watchers.set(watcher.uri, own.add(watcher))
    watcher.stop = () => remove(watcher)
  }

  function remove(watcher: Watcher): void {
    const own = watchers.get(watcher.uri)
    if (!own?.delete(watcher) || own.size > 0) return
    watchers.delete(watcher.uri)
    main().session()?.watch(wanted())
  }

  return {
    add(uri, onUpdated) {
      const isKnown = watchers.has(uri)
      const watcher: Watcher = { uri, tell: () => onUpdated(), stop() {} }
      place(watcher)
      if (!isKnown) hear()
      return () => watcher.stop()
    },
    apply(session) {
      if (watchers.size === 0) return
      session.watch(wanted())
      tellAll(all())
    },
    updated(uri) {
      for (const { tell } of watchers.get(uri) ?? []) tell()
    },
    isWatched: () => watchers.size > 0,
    handOver(to) {
      const left = all()
      // Its server is not told: nothing new is asked of one that is left, and what it still says reaches nobody.
      watchers.clear()
      to.takeOver(left)
    },
    takeOver(more) {
      if (more.length === 0) return
      for (const watcher of more) place(watcher)
      hear()
      // One that is not up yet tells them with its first session.
      if (main().session()) tellAll(more)
    },
  }
}

/** What happened while nobody listened nobody has told. */
function tellAll(watchers: readonly Watcher[]): void {
  for (const { tell } of watchers) tell()
}
