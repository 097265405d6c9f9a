import type { Connection } from '../supervision/connection.ts'

/** A connection, as far as changes are told on it. */
export type Hearing = Pick<Connection, 'session' | 'start'>

/** One who wants to hear of an address. */
export interface Watcher {
  readonly agent: string
  readonly uri: string
  tell(): void
  /** Ends it at the server where it is now. */
  stop(): void
}

/** Who is told of which addresses on which connection. */
export interface Wishes {
  add(connection: Hearing, watcher: Watcher): void
  /** Answers whether that was the last one at its address. */
  remove(connection: Hearing, watcher: Watcher): boolean
  /** The addresses. */
  wanted(connection: Hearing): ReadonlySet<string>
  at(connection: Hearing, uri: string): readonly Watcher[]
  all(connection: Hearing): readonly Watcher[]
  isAny(connection: Hearing): boolean
  clear(): void
}

export function createWishes(): Wishes {
  const known = new Map<Hearing, Map<string, Set<Watcher>>>()
  return {
    add(connection, watcher) {
      const byUri = known.get(connection) ?? new Map<string, Set<Watcher>>()
      known.set(connection, byUri)
      byUri.set(watcher.uri, (byUri.get(watcher.uri) ?? new Set()).add(watcher))
    },
    remove(connection, watcher) {
      const byUri = known.get(connection)
      const own = byUri?.get(watcher.uri)
      if (!byUri || !own?.delete(watcher) || own.size > 0) return false
      byUri.delete(watcher.uri)
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
