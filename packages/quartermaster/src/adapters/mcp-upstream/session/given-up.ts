import type { Clock } from '../../../core/kernel/index.ts'

/** Knows who gave up a request that its server may still be at work on. */
export interface GivenUp {
  /** Somebody gives one up; answers how to say that the server has answered it after all. */
  add(caller: string): () => void
  callers(): readonly string[]
}

/**
 * So long a server is thought to be at work on what was given up. One that does as it is told never answers it, and meanwhile
 * its questions to others are declined.
 */
export const GIVEN_UP_MS = 2 * 60_000
/** As many callers are told apart. */
export const MOST_GIVEN_UP = 200

/** Whoever came when there were too many: not a name that anybody has. */
const SOMEBODY = ''

interface Requests {
  count: number
  until: number
}

export function createGivenUp(clock: Clock): GivenUp {
  /** In the order in which they are forgotten. */
  const byCaller = new Map<string, Requests>()

  function forgetOld(): void {
    for (const [caller, { until }] of byCaller) {
      if (until > clock.now()) return
      byCaller.delete(caller)
    }
  }

  return {
    add(caller) {
      forgetOld()
      const name = byCaller.has(caller) || byCaller.size < MOST_GIVEN_UP ? caller : SOMEBODY
      const requests = byCaller.get(name) ?? { count: 0, until: 0 }
      requests.count++
      requests.until = clock.now() + GIVEN_UP_MS
      byCaller.delete(name)
      byCaller.set(name, requests)
      return () => {
        if (--requests.count === 0 && byCaller.get(name) === requests) byCaller.delete(name)
      }
    },
    callers() {
      forgetOld()
      return [...byCaller.keys()]
    },
  }
}
