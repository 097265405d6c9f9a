import type { Session } from './session/session.ts'

/** Who wants to hear of changes at which addresses of a server, over all its connections. */
export interface Watches {
  /** Returns how to stop. */
  add(uri: string, onUpdated: () => void): () => void
  /** Tells a new session what to listen for. */
  apply(session: Session): void
  updated(uri: string): void
}

export function createWatches(current: () => Session | undefined): Watches {
  const watchers = new Map<string, Set<() => void>>()
  const wanted = () => new Set(watchers.keys())

  return {
    add(uri, onUpdated) {
      const known = watchers.get(uri)
      const own = known ?? new Set()
      own.add(onUpdated)
      watchers.set(uri, own)
      if (!known) current()?.watch(wanted())
      return () => {
        own.delete(onUpdated)
        if (own.size > 0 || watchers.get(uri) !== own) return
        watchers.delete(uri)
        current()?.watch(wanted())
      }
    },
    apply(session) {
      if (watchers.size > 0) session.watch(wanted())
    },
    updated(uri) {
      for (const tell of watchers.get(uri) ?? []) tell()
    },
  }
}
