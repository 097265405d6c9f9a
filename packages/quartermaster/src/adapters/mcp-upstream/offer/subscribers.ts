import type { Connection } from '../supervision/connection.ts'

/** A connection, as far as changes are told on it. */
export type Hearing = Pick<Connection, 'session' | 'start'>

/** One who wants to hear of an address. */
export interface Subscriber {
  readonly agent: string
  readonly uri: string
  tell(): void
  /** Ends it at the server where it is now. */
  stop(): void
}

/** Who is told of which addresses on which connection. */
export interface Subscribers {
  add(connection: Hearing, subscriber: Subscriber): void
  /** Answers whether that was the last one at its address. */
  remove(connection: Hearing, subscriber: Subscriber): boolean
  /** The addresses. */
  wanted(connection: Hearing): ReadonlySet<string>
  at(connection: Hearing, uri: string): readonly Subscriber[]
  all(connection: Hearing): readonly Subscriber[]
  isAny(connection: Hearing): boolean
  clear(): void
}

export function createSubscribers(): Subscribers {
  const known = new Map<Hearing, Map<string, Set<Subscriber>>>()
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
