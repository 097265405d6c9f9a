import type { Clock } from '../../../core/kernel/index.ts'

/** How long a request may wait for a server. Only waiting counts: a server may fall after it has been at work for long. */
export interface Budget {
  left(): number
  /** All of it is there again. */
  restore(): void
  /** Does something that takes from it, with what is left. */
  spend<T>(wait: (leftMs: number) => Promise<T>): Promise<T>
}

export function createBudget(clock: Clock, ms: number): Budget {
  let left = ms
  return {
    left: () => left,
    restore() {
      left = ms
    },
    async spend(wait) {
      const begunAt = clock.now()
      try {
        return await wait(left)
      } finally {
        left = Math.max(0, left - (clock.now() - begunAt))
      }
    },
  }
}
