import { createHash } from 'node:crypto'
import { AppError, type Row, type Table } from '../../contracts/index.ts'
import {
  type CommitOutcome,
  newsOf,
  type Store,
  type WordLimit,
  type WordScope,
  type WordSearch,
  type Write,
} from '../../core/store/index.ts'
import { createReadStatements, createWriteStatements } from './read-write.ts'
import {
  createSqlWriter,
  createStatementCache,
  type DialectName,
  readColumns,
  type SqlExecutor,
  type SqlValue,
  type StatementsOutcome,
} from './statements.ts'

export interface SqlStoreDeps {
  readonly dialect: DialectName
  readonly executor: SqlExecutor
  /** Other processes share the database and are notified of commits. */
  readonly isShared?: boolean
}

/** The store over any SQL database. */
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

/** Statistics since the store was opened. */
export interface StoreStatistics {
  /** Answered commits, including those whose guard failed. */
  readonly commits: number
  readonly refused: number
  /** Transactions, each with one sync: on average `commits / groups` callers shared one. */
  readonly groups: number
  readonly largestGroup: number
  readonly busyMs: number
  readonly reads: number
  readonly errors: number
  readonly waiting: number
  /** Worker threads or connections that died and were replaced. */
  readonly restarts: number
}

/** Commits of one transaction. */
export interface Group {
  readonly commits: number
  /** From the first statement to the end of the sync. */
  /** From the first statement to the end of the sync. */
  readonly ms: number
}

export function createCounters() {
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
    group({ commits, ms }: Group) {
      counts.groups++
      counts.largestGroup = Math.max(counts.largestGroup, commits)
      counts.busyMs += ms
    },
    /** Counts the calls of an executor. */
    counting: (executor: SqlExecutor): SqlExecutor => ({
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
    read: (): Omit<StoreStatistics, 'waiting' | 'restarts'> => ({ ...counts }),
  }
}

/** Finds memories by their words, with each database's own index. */
export function createWordSearch(dialect: DialectName, executor: Pick<SqlExecutor, 'read'>): WordSearch {
  const newest = NEWEST[dialect]
  return {
    async count(word, { most, ...scope }) {
      const parameters: SqlValue[] = []
      const sql = `select count(*) from (${newest({ word, most }, scope, parameters)}) as t`
      const [row] = await executor.read({ sql, parameters })
      return Number(row?.[0])
    },
    // Each list as one text: transferring rows takes longer than finding them.
    async newest(words, scope) {
      if (words.length === 0) return []
      const parameters: SqlValue[] = []
      const parts = words.map(
        (wanted, i) => `select ${i}, ${JOINED[dialect]} from (${newest(wanted, scope, parameters)}) as t`,
      )
      const lists = words.map((): readonly number[] => [])
      for (const [i, slots] of await executor.read({ sql: parts.join(' union all '), parameters }))
        if (typeof slots === 'string') lists[Number(i)] = slots.split(',').map(Number)
      return lists
    },
  }
}

const JOINED: Readonly<Record<DialectName, string>> = {
  sqlite: 'group_concat("slot")',
  postgres: `string_agg("slot"::text, ',' order by "slot" desc)`,
}

type Newest = (wanted: WordLimit, scope: WordScope, parameters: SqlValue[]) => string

/** The newest rows with a word. The index prefixes words with their scope, so rows of other scopes are not read. */
const NEWEST: Readonly<Record<DialectName, Newest>> = {
  sqlite({ word, most }, { scopes, upTo, above }, parameters) {
    const match = place('sqlite', parameters, scopes.map(scope => quoted(scope + word)).join(' OR '))
    const highest = place('sqlite', parameters, upTo)
    const lowest = above === undefined ? '' : ` and "rowid" > ${place('sqlite', parameters, above)}`
    return (
      `select * from (select "rowid" as "slot" from "memory_words" where "memory_words" match ${match} ` +
      `and "rowid" <= ${highest}${lowest} order by 1 desc limit ${place('sqlite', parameters, most)})`
    )
  },
  postgres({ word, most }, { scopes, upTo, above }, parameters) {
    const highest = `${place('postgres', parameters, upTo)}::bigint`
    const lowest = above === undefined ? '' : ` and "slot" > ${place('postgres', parameters, above)}::bigint`
    const limit = `order by "slot" desc limit ${place('postgres', parameters, most)}::bigint`
    // Each scope separately, so that no more rows than wanted are read.
    const parts = scopes.map(scope => {
      const key = place('postgres', parameters, wordKey(scope, word))
      return `(select "slot" from "memory_words" where "word" = ${key}::bigint and "slot" <= ${highest}${lowest} ${limit})`
    })
    return `select "slot" from (${parts.join(' union all ')}) as s ${limit}`
  },
}

/** Quotes a word of an FTS5 query. */
function quoted(word: string): string {
  return `"${word.replaceAll('"', '""')}"`
}

/** Adds a parameter and returns its placeholder. */
function place(dialect: DialectName, parameters: SqlValue[], value: SqlValue): string {
  parameters.push(value)
  return dialect === 'postgres' ? `$${parameters.length}` : '?'
}

/**
 * A word of a scope as a 64-bit number, which is compact in an index. A PostgreSQL trigger computes the same. A collision costs one
 * read: the scope and words of a found row are checked again.
 */
function wordKey(scope: string, word: string): string {
  return createHash('sha256')
    .update(scope + word)
    .digest()
    .readBigInt64BE(0)
    .toString()
}
