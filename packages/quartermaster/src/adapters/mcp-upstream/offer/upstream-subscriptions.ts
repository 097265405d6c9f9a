import type { Session } from '../session/session.ts'
import type { Connection } from '../supervision/connection.ts'

/** Who wants to hear of changes at which addresses of a server, over all its connections. */
export interface UpstreamSubscriptions {
  /** Returns how to stop. A server that sleeps is woken: it tells nobody of anything. */
  add(uri: string, onUpdated: () => void): () => void
  /** Tells a new session what to listen for. */
  apply(session: Session): void
  updated(uri: string): void
  /** Whether anybody wants to hear of anything. */
  isWatched(): boolean
}

/** Changes are told on the connection by which a server is known. */
export function createUpstreamSubscriptions(main: () => Pick<Connection, 'session' | 'start'>): UpstreamSubscriptions {
  const watchers = new Map<string, Set<() => void>>()
  const wanted = () => new Set(watchers.keys())

  function hear(): void {
    const session = main().session()
    if (session) session.watch(wanted())
    else main().start()
  }

  return {
    add(uri, onUpdated) {
      const known = watchers.get(uri)
      const own = known ?? new Set()
      own.add(onUpdated)
      watchers.set(uri, own)
      if (!known) hear()
      return () => {
        own.delete(onUpdated)
        if (own.size > 0 || watchers.get(uri) !== own) return
        watchers.delete(uri)
        main().session()?.watch(wanted())
      }
    },
    apply(session) {
      if (watchers.size > 0) session.watch(wanted())
    },
    updated(uri) {
      for (const tell of watchers.get(uri) ?? []) tell()
    },
    isWatched: () => watchers.size > 0,
  }
}
