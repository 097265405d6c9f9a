import { AppError, type Row, type Table } from '../../contracts/index.ts'
import { type CommitOutcome, newsOf, type Store, type Write } from '../../core/store/index.ts'
import { readColumns } from './columns.ts'
import { createSqlWriter, type DialectName } from './dialect.ts'
import { createReadStatements } from './read-statements.ts'
import type { SqlExecutor, StatementsOutcome } from './statement.ts'
import { createStatementCache } from './statement-cache.ts'
import { createWordSearch } from './word-search.ts'
import { createWriteStatements } from './write-statements.ts'

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
