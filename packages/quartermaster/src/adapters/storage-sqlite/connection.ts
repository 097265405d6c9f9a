import { DatabaseSync } from '@photostructure/sqlite'
import type { GuardedStatement, SqlRow, Statement } from '../storage-sql/index.ts'
import type { WorkerSettings } from './protocol.ts'

/** One open database with its prepared statements. */
export interface Connection {
  readonly isInTransaction: boolean
  exec(sql: string): void
  read(statement: Statement): readonly SqlRow[]
  /** The number of rows the statement changed, or found. */
  countRows(statement: GuardedStatement): number
  close(): void
}

/** The part of the driver that is used. */
interface PreparedLike {
  run(...parameters: unknown[]): { changes: number | bigint }
  all(...parameters: unknown[]): unknown[]
  setReturnArrays(isOn: boolean): void
}

/** Opens the file, and verifies that commits will be durable. */
export function openConnection({ file, readOnly }: WorkerSettings): Connection {
  const database = new DatabaseSync(file, { readOnly, timeout: BUSY_MS, defensive: true })
  try {
    database.exec(readOnly ? READING : WRITING)
    if (!readOnly) proveDurable(pragma => Object.values(database.prepare(pragma).get() ?? {})[0])
  } catch (error) {
    database.close()
    throw error
  }
  const prepared = createPreparedStatements(sql => database.prepare(sql))
  return {
    get isInTransaction() {
      return database.isTransaction
    },
    exec: sql => void prepared(sql).run(),
    read: ({ sql, parameters }) => prepared(sql).all(...parameters) as SqlRow[],
    countRows({ sql, parameters, finds }) {
      const statement = prepared(sql)
      return finds ? statement.all(...parameters).length : Number(statement.run(...parameters).changes)
    },
    close: () => database.close(),
  }
}

/** Only a checkpoint of our own other thread can block, and never for long. */
const BUSY_MS = 5_000

const READING = 'PRAGMA trusted_schema = OFF'

/**
 * `fullfsync` makes macOS flush the drive's own cache; elsewhere it does nothing. The size limit frees the disk that the log took
 * during a burst.
 */
const WRITING = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA fullfsync = ON;
  PRAGMA checkpoint_fullfsync = ON;
  PRAGMA journal_size_limit = 67108864;
  ${READING};
`

const FULL = 2

/** SQLite accepts these settings silently where they have no effect, so they are read back. */
function proveDurable(read: (pragma: string) => unknown): void {
  const journal = read('PRAGMA journal_mode')
  const synchronous = read('PRAGMA synchronous')
  if (journal === 'wal' && synchronous === FULL) return
  throw new Error(
    `it cannot be written durably here (journal ${journal}, synchronous ${synchronous}): its folder must be on a local file system`,
  )
}

const MOST_PREPARED = 500

/** Caches prepared statements; the oldest are evicted. */
function createPreparedStatements(prepare: (sql: string) => PreparedLike): (sql: string) => PreparedLike {
  const known = new Map<string, PreparedLike>()
  return sql => {
    const found = known.get(sql)
    if (found) return found
    const statement = prepare(sql)
    statement.setReturnArrays(true)
    const [oldest] = known.keys()
    if (known.size >= MOST_PREPARED && oldest !== undefined) known.delete(oldest)
    known.set(sql, statement)
    return statement
  }
}
