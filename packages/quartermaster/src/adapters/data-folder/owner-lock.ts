import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { AppError, messageOf } from '../../contracts/index.ts'
import { readEndpoint } from './endpoint.ts'
import { codeOf, unusable } from './errors.ts'

export interface OwnerLock {
  /** Lets the next owner in. May be called again. */
  release(): Promise<void>
}

/**
 * Takes the one lock of the folder: an exclusive transaction on `lock.db`. The operating system drops it with the
 * process, also after `kill -9`, and it holds between containers that share the folder.
 */
export async function lockFolder(dir: string): Promise<OwnerLock> {
  const database = await openLockFile(dir)
  try {
    proveWritable(database)
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    throw isBusy(error) ? await locked(dir, error) : unlockable(dir, error)
  }
  let held = true
  return {
    async release() {
      if (held) database.close()
      held = false
    },
  }
}

/** What we use of the driver. */
interface SqliteLike {
  exec(sql: string): void
  close(): void
}

async function openLockFile(dir: string): Promise<SqliteLike> {
  const file = join(dir, 'lock.db')
  const { DatabaseSync } = await import('@photostructure/sqlite')
  try {
    createPrivately(file)
    return new DatabaseSync(file, { timeout: 0 })
  } catch (error) {
    throw codeOf(error) === SQLITE_ERROR ? unlockable(dir, error) : unusable(dir, error)
  }
}

/**
 * SQLite would make the file readable for others. An existing one must never be opened here: closing it would drop the
 * lock that another part of this process holds on it (POSIX `fcntl`: "all locks … are removed"). For the same reason
 * opening and closing happen without a pause in which someone could lock.
 */
function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

/** In a folder that cannot be written SQLite turns an exclusive transaction into a shared one, without a word. */
function proveWritable(database: SqliteLike): void {
  database.exec('BEGIN EXCLUSIVE; PRAGMA user_version = 1; COMMIT')
}

const SQLITE_ERROR = 'ERR_SQLITE_ERROR'
const SQLITE_BUSY = 5
const SQLITE_LOCKED = 6

function isBusy(error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false
  const primary = error.errcode & 0xff
  return primary === SQLITE_BUSY || primary === SQLITE_LOCKED
}

async function locked(dir: string, cause: unknown): Promise<AppError> {
  const owner = await readEndpoint(dir)
  const who = owner ? `the "up" at ${owner.url} (process ${owner.pid})` : 'another process'
  const next = owner ? 'Use that one. If it does not answer, stop it; or choose another folder with --data.' : AFTER_IT
  const details = owner ? { folder: dir, url: owner.url, pid: owner.pid } : { folder: dir }
  return new AppError('STORE_LOCKED', `The data folder "${dir}" belongs to ${who}. ${next}`, { cause, details })
}

/** It starts or ends, or is a command. */
const AFTER_IT = 'Try again when it is done, or choose another folder with --data.'

function unlockable(dir: string, cause: unknown): AppError {
  const next =
    'It must be writable, on a file system with locks, and its lock.db an SQLite file (it may be deleted while nothing runs).'
  const message = `The data folder "${dir}" cannot be locked: ${messageOf(cause)}. ${next}`
  return new AppError('CONFIG_INVALID', message, { cause, details: { folder: dir } })
}
