import type { SqlExecutor } from './statement.ts'

/** What a store has done since it was opened. */
export interface StoreStatistics {
  /** Commits that were answered, those included whose guard failed. */
  readonly commits: number
  /** Commits whose guard failed. */
  readonly refused: number
  /** Transactions, each with one sync: `commits / groups` callers shared one. */
  readonly groups: number
  readonly largestGroup: number
  /** Time the committer was busy. */
  readonly busyMs: number
  readonly reads: number
  /** Requests that ended in an error. */
  readonly errors: number
  /** Requests without an answer, now. */
  readonly waiting: number
  /** Threads or connections that died and were replaced. */
  readonly restarts: number
}

/** Commits that became durable together. */
export interface Group {
  readonly commits: number
  /** From the first statement to the end of the sync. */
  readonly ms: number
}

export interface Counters {
  group(group: Group): void
  /** The executor, with everything it does counted. */
  counting(executor: SqlExecutor): SqlExecutor
  read(): Omit<StoreStatistics, 'waiting' | 'restarts'>
}

export function createCounters(): Counters {
  const counts = { commits: 0, refused: 0, groups: 0, largestGroup: 0, busyMs: 0, reads: 0, errors: 0 }

  async function counted<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      counts.errors++
      throw error
    }
  }

  return {
    group({ commits, ms }) {
      counts.groups++
      counts.largestGroup = Math.max(counts.largestGroup, commits)
      counts.busyMs += ms
    },
    counting: executor => ({
      async commit(statements, news) {
        const outcome = await counted(executor.commit(statements, news))
        counts.commits++
        if (!outcome.done) counts.refused++
        return outcome
      },
      async read(statement) {
        const rows = await counted(executor.read(statement))
        counts.reads++
        return rows
      },
    }),
    read: () => ({ ...counts }),
  }
}
