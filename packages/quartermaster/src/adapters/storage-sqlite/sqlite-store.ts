import { closeSync, openSync } from 'node:fs'
import { AppError } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import type { Store } from '../../core/store/index.ts'
import {
  createCounters,
  createSqlStore,
  type Migration,
  migrate,
  migrationsFor,
  type SqlExecutor,
  type StoreStatistics,
} from '../storage-sql/index.ts'
import { unusable } from './errors.ts'
import { storeFile } from './inspect.ts'
import type { Answer } from './protocol.ts'
import { toFault } from './protocol.ts'
import { findWorker } from './worker-entry.ts'
import { createWorkerQueue, type WorkerQueue } from './worker-queue.ts'

export interface SqliteStore extends Store {
  statistics(): StoreStatistics
  /** The durability settings, as the database reports them. */
  durability(): Promise<{ readonly journal: string; readonly synchronous: number }>
  /** Finishes queued requests and closes the file. Idempotent. */
  close(): Promise<void>
}

export interface SqliteStoreOptions {
  /** The data folder. The opener of the store holds the folder's lock. */
  readonly dir: string
  readonly log: Log
  /** Requests that may wait; more are rejected with `STORE_BUSY`. */
  readonly mostWaiting?: number
  /** For tests of other schema versions. */
  readonly migrations?: readonly Migration[]
}

/** A minute's worth on a slow disk. Bursts are slowed down by waiting callers; this bound protects the memory. */
const MOST_WAITING = 20_000

/** Opens the store in this folder, creating or migrating it if needed. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  const { dir, log, mostWaiting = MOST_WAITING, migrations = migrationsFor('sqlite') } = options
  const file = storeFile(dir)
  createPrivately(file)
  const startWorker = await findWorker()
  const counters = createCounters()
  const queue = (name: string, readOnly: boolean) =>
    createWorkerQueue({
      name,
      log,
      mostWaiting,
      start: () => startWorker(name, { file, readOnly }),
      refusal: fault => unusable(file, fault),
      onGroup: counters.group,
    })
  // Two threads: a slow read blocks other reads, but no commit.
  const committer = queue('store-committer', false)
  const reader = queue('store-reader', true)
  try {
    const executor = executorOver(committer, committer)
    await migrate({ executor, migrations, log, place: `"${file}"`, elsewhere: 'choose another folder with --data' })
  } catch (error) {
    await committer.close()
    throw error
  }
  const store = createSqlStore({ dialect: 'sqlite', executor: counters.counting(executorOver(committer, reader)) })
  return {
    ...store,
    statistics: () => ({
      ...counters.read(),
      waiting: committer.waiting() + reader.waiting(),
      restarts: committer.restarts() + reader.restarts(),
    }),
    durability: () => readDurability(committer),
    // The last connection to close cleans up the log, and a read-only one could not.
    close: () => committer.close(reader.close()),
  }
}

/** SQLite would create the file readable for others; its companion files take the same mode. */
function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw unusable(file, toFault(error))
  }
}

function executorOver(committer: WorkerQueue, reader: WorkerQueue): SqlExecutor {
  return {
    commit: async statements => outcomeIn(await committer.ask({ kind: 'commit', statements })),
    read: async statement => rowsIn(await reader.ask({ kind: 'read', statement })),
  }
}

async function readDurability(committer: WorkerQueue): Promise<{ journal: string; synchronous: number }> {
  const read = async (sql: string) =>
    rowsIn(await committer.ask({ kind: 'read', statement: { sql, parameters: [] } }))[0]?.[0]
  return { journal: String(await read('PRAGMA journal_mode')), synchronous: Number(await read('PRAGMA synchronous')) }
}

function outcomeIn(answer: Answer) {
  if ('outcome' in answer) return answer.outcome
  throw new AppError('INTERNAL', 'The store answered a commit with something else.')
}

function rowsIn(answer: Answer) {
  if ('rows' in answer) return answer.rows
  throw new AppError('INTERNAL', 'The store answered a read with something else.')
}
