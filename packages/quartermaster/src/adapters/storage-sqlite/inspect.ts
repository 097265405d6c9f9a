import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { messageOf } from '../../contracts/index.ts'
import { migrationsFor, type SqlRow } from '../storage-sql/index.ts'
import { explain } from './errors.ts'
import type { Answer, Fault, FromWorker, Request, ToWorker } from './protocol.ts'
import { toFault } from './protocol.ts'
import { findWorker } from './worker-entry.ts'

export type StoreCondition =
  /** There is no file, or an empty one: the next start creates the store. */
  | { readonly state: 'absent' }
  | { readonly state: 'sound' }
  /** The owner is in the middle of a write. */
  | { readonly state: 'busy' }
  | { readonly state: 'tooNew'; readonly version: number; readonly newest: number }
  | { readonly state: 'damaged'; readonly reason: string }
  | { readonly state: 'unreadable'; readonly reason: string }

export function storeFile(dir: string): string {
  return join(dir, 'store.db')
}

/** Whether the folder has no store yet. */
export function isStoreAbsent(dir: string): boolean {
  // Only the size: closing a file that SQLite has open in this process would drop its locks.
  const found = statSync(storeFile(dir), { throwIfNoEntry: false })
  return !found || (found.isFile() && found.size === 0)
}

/** Inspects the store without changing it, in its own thread: a large one takes seconds. The store may be in use. */
export async function inspectStore(dir: string): Promise<StoreCondition> {
  try {
    if (isStoreAbsent(dir)) return { state: 'absent' }
  } catch (error) {
    return { state: 'unreadable', reason: messageOf(error) }
  }
  const startWorker = await findWorker()
  const worker = startWorker('store-inspector', { file: storeFile(dir), readOnly: true })
  try {
    return await judge(questioner(worker))
  } finally {
    await worker.terminate()
  }
}

type ReadAnswer = { readonly rows: readonly SqlRow[] } | { readonly fault: Fault }

const SQLITE_BUSY = 5
/** Result codes about the contents of the file, not about access to it. */
const SQLITE_CORRUPT = 11
const SQLITE_NOTADB = 26
/** The first problem is enough. */
const CHECK = 'PRAGMA quick_check(1)'
const HAS_VERSIONS = `select 1 from "sqlite_schema" where "name" = 'schema_versions'`
const VERSION = 'select coalesce(max("version"), 0) from "schema_versions"'

async function judge(read: (sql: string) => Promise<ReadAnswer>): Promise<StoreCondition> {
  const checked = await read(CHECK)
  if ('fault' in checked) return faulty(checked.fault)
  const [verdict] = checked.rows[0] ?? []
  if (verdict !== 'ok') return { state: 'damaged', reason: firstLine(String(verdict)) }
  const known = await read(HAS_VERSIONS)
  if ('fault' in known) return faulty(known.fault)
  if (known.rows.length === 0) return { state: 'sound' }
  const noted = await read(VERSION)
  if ('fault' in noted) return faulty(noted.fault)
  const version = Number(noted.rows[0]?.[0])
  const newest = migrationsFor('sqlite').at(-1)?.version ?? 0
  return version > newest ? { state: 'tooNew', version, newest } : { state: 'sound' }
}

function faulty(fault: Fault): StoreCondition {
  if (fault.code === SQLITE_BUSY) return { state: 'busy' }
  const isContents = fault.code === SQLITE_CORRUPT || fault.code === SQLITE_NOTADB
  return { state: isContents ? 'damaged' : 'unreadable', reason: explain(fault) }
}

/** SQLite starts with a heading that names the database. */
function firstLine(text: string): string {
  return (text.split('\n').find(line => line.trim() !== '' && !line.startsWith('***')) ?? text).trim()
}

/** Sends queries to a worker, one after the other. A worker that has ended fails them. */
function questioner(worker: Worker): (sql: string) => Promise<ReadAnswer> {
  const ended = new Promise<ReadAnswer>(resolve => {
    const fail = (error: unknown) => resolve({ fault: toFault(error) })
    worker.once('error', fail)
    worker.once('exit', code => fail(new Error(`its thread ended with exit code ${code}`)))
  })
  return sql => {
    const answered = new Promise<ReadAnswer>(resolve => {
      worker.once('message', (message: FromWorker) =>
        resolve(message.kind === 'refused' ? { fault: message.fault } : rowsIn(message.answers[0])),
      )
    })
    const request: Request = { id: 0, kind: 'read', statement: { sql, parameters: [] } }
    const asked: ToWorker = { kind: 'requests', requests: [request] }
    worker.postMessage(asked, [])
    return Promise.race([answered, ended])
  }
}

function rowsIn(answer: Answer | undefined): ReadAnswer {
  if (answer && 'rows' in answer) return { rows: answer.rows }
  return { fault: answer && 'fault' in answer ? answer.fault : { message: 'it answered something else' } }
}
