import { AppError, type Row, type Table } from '../../contracts/index.ts'
import { type CommitOutcome, newsOf, type Store, type Write } from '../../core/store/index.ts'
import { createReadStatements, createWriteStatements } from './read-write.ts'
import {
  createSqlWriter,
  createStatementCache,
  type DialectName,
  readColumns,
  type SqlExecutor,
  type StatementsOutcome,
} from './statements.ts'
import { createWordSearch } from './word-search.ts'

export interface SqlStoreDeps {
  readonly dialect: DialectName
  readonly executor: SqlExecutor
  /** Whether others share the database, and are told of what is committed. */
  readonly isShared?: boolean
}

/** The store over any database that runs statements. */
export function createSqlStore({ dialect, executor, isShared = false }: SqlStoreDeps): Store {
  const deps = { writer: createSqlWriter(dialect), columns: readColumns(), cache: createStatementCache() }
  const toStatement = createWriteStatements(deps)
  const reads = createReadStatements(deps)

  const find: Store['find'] = async (table, query) => {
    const { statement, toRow } = reads.find(table, query)
    const rows = await executor.read(statement)
    return rows.map(toRow) as never
  }

  return {
    async commit(writes) {
      if (writes.length === 0) return { committed: true, rows: [] }
      const news = isShared ? newsOf(writes) : []
      return toOutcome(await executor.commit(writes.map(toStatement), news), writes)
    },
    async get<T extends Table>(table: T, id: string): Promise<Row<T> | undefined> {
      const [row] = await find(table, { where: { id } as never, limit: 1 })
      return row as Row<T> | undefined
    },
    find,
    async count(table, where = {}) {
      const [row] = await executor.read(reads.count(table, where))
      return Number(row?.[0])
    },
    words: createWordSearch(dialect, executor),
  }
}

function toOutcome(outcome: StatementsOutcome, writes: readonly Write[]): CommitOutcome {
  if (outcome.done) return { committed: true, rows: outcome.rows }
  const { index, rows } = outcome
  const write = writes[index]
  if (!write) throw new AppError('INTERNAL', `The store refused write ${index} of ${writes.length}.`)
  const { kind, table, guard } = write
  return { committed: false, failed: { index, kind, table, rows, ...(guard === undefined ? {} : { guard }) } }
}

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

interface Counters {
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
