/** Remembers which agent lost which server: requests begun before that are not started again. */
export interface RevokedAgents {
  /** An agent has lost this server, or all of them. */
  add(agent: string, upstream?: string): void
  /** Answers a function that tells later whether an agent has lost a server since now. */
  since(agent: string, upstream: string): () => boolean
}

/** Hardly any call is open while as many others lose something. */
const MOST = 10_000

export function createRevokedAgents(): RevokedAgents {
  let count = 0
  /** The newest forgotten loss: for a request that began before it the answer is unknown, so nothing is started. */
  let forgotten = 0
  /** The number of the last loss: by agent and server, or by agent where it lost all. */
  const last = new Map<string, number>()
  return {
    add(agent, upstream) {
      const key = keyOf(agent, upstream)
      // The oldest come first.
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
      // Every call asks, and nearly always nothing was lost.
      return () => count > before && (forgotten > before || isSince(keyOf(agent)) || isSince(keyOf(agent, upstream)))
    },
  }
}

function keyOf(agent: string, upstream?: string): string {
  return upstream === undefined ? agent : `${agent}\n${upstream}`
}
