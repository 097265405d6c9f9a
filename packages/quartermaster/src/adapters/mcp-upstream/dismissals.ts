/** Remembers who has lost which server: what was begun for an agent before that is not begun anew after it. */
export interface Dismissals {
  /** An agent has lost this server, or all of them. */
  add(agent: string, upstream?: string): void
  /** How to ask later on whether an agent has lost a server since now. */
  since(agent: string, upstream: string): () => boolean
}

/** Hardly anybody's call is under way for so long that as many others lose something meanwhile. */
const MOST = 10_000

export function createDismissals(): Dismissals {
  let count = 0
  /** The newest of those that are not remembered: of whoever began before it nobody knows, and nothing is begun any more. */
  let forgotten = 0
  /** Which one was the last of each: by the agent and the server, or by the agent alone where that has lost all. */
  const last = new Map<string, number>()
  return {
    add(agent, upstream) {
      const key = keyOf(agent, upstream)
      // The oldest stand first.
      last.delete(key)
      last.set(key, ++count)
      const [oldest] = last
      if (last.size <= MOST || !oldest) return
      last.delete(oldest[0])
      forgotten = oldest[1]
    },
    since(agent, upstream) {
      const before = count
      const isSince = (key: string) => (last.get(key) ?? 0) > before
      // Every call asks, and nearly always nobody has lost anything.
      return () => count > before && (forgotten > before || isSince(keyOf(agent)) || isSince(keyOf(agent, upstream)))
    },
  }
}

function keyOf(agent: string, upstream?: string): string {
  return upstream === undefined ? agent : `${agent}\n${upstream}`
}
