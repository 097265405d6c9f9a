import type { Upstream } from './upstream.ts'

/** Upstreams that are gone or replaced: calls that are under way end on what they began with. */
export interface Departures {
  /** Lets it go once it has nothing to do any more. Nobody waits for that. */
  add(upstream: Upstream): void
  /** The processes of those that had a name. */
  pids(name: string): number[]
  /** Those that had a name have no time to finish any more. */
  end(name: string, reason: string): void
  /** From now on nobody has time to finish. */
  hurry(reason: string): void
  /** Resolves when all that were let go have stopped. */
  settled(): Promise<unknown>
}

/** To whoever still waited for it, and for whom there is no other. */
const GONE = 'It was removed, or its entry was changed meanwhile.'

export function createDepartures(): Departures {
  const leaving = new Map<Upstream, Promise<void>>()
  let hurried: string | undefined
  const named = (name: string) => [...leaving.keys()].filter(one => one.name === name)
  return {
    add(upstream) {
      leaving.set(
        upstream,
        (hurried === undefined ? upstream.leave(GONE) : upstream.stop(hurried)).finally(() => leaving.delete(upstream)),
      )
    },
    pids: name => named(name).flatMap(one => one.status().pids),
    end(name, reason) {
      for (const upstream of named(name)) void upstream.stop(reason)
    },
    hurry(reason) {
      hurried = reason
      for (const upstream of leaving.keys()) void upstream.stop(reason)
    },
    settled: () => Promise.all(leaving.values()),
  }
}
