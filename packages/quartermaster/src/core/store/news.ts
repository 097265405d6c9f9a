import { messageOf, type Table } from '../../contracts/index.ts'
import { type FollowingClock, type Log } from '../kernel/index.ts'
import { type Write } from './write.ts'

/** Changed rows of one table: these, or any of them. For `activity` and `inbox` the ids are those of the workspaces. */
export interface ChangedRows {
  readonly table: Table
  readonly ids: readonly string[] | 'any'
}

/** A cache of the store, or code that waits for rows. */
export interface NewsListener {
  /** Another process has changed rows. Read them again: this only says which. */
  changed(rows: readonly ChangedRows[]): void
  /** The connection is lost: caches are invalid until it is back. */
  lost?(): void
  /** The connection is back. Anything may have changed meanwhile. */
  back(): void
}

/** Notifications of commits by other processes to the same store. They may come late or twice, never before the commit. */
export interface StoreNews {
  listen(listener: NewsListener): () => void
  isConnected(): boolean
}

/** The changes of a commit that another process may wait for. */
export function newsOf(writes: readonly Write[]): readonly ChangedRows[] {
  const rows: ChangedRows[] = []
  for (const write of writes) {
    if (isNews(write)) rows.push({ table: write.table, ids: idsOf(write) })
  }
  return mergeNews(rows)
}

/** One entry for each table, each row once. */
export function mergeNews(rows: readonly ChangedRows[]): readonly ChangedRows[] {
  if (rows.length < 2) return rows
  const byTable = new Map<Table, Set<string> | 'any'>()
  for (const { table, ids } of rows) {
    const known = byTable.get(table)
    if (known === 'any') continue
    byTable.set(table, ids === 'any' ? 'any' : new Set([...(known ?? []), ...ids]))
  }
  return [...byTable].map(([table, ids]) => ({ table, ids: ids === 'any' ? ids : [...ids] }))
}

/** Tables that no process waits for. */
const QUIET: ReadonlySet<Table> = new Set<Table>([
  'audit',
  'results',
  'attachments',
  'blobs',
  'chunks',
  'attachmentuses',
  'memories',
  'seats',
])

function isNews(write: Write): boolean {
  if (write.kind === 'mustExist' || write.kind === 'mustNotExist' || QUIET.has(write.table)) return false
  if (write.table === 'operations') return isStateChange(write)
  // Processes wait for new messages, and for acknowledged ones to make room. The rest is housekeeping.
  if (write.table === 'activity') return write.kind === 'insert'
  if (write.table === 'inbox') return write.kind === 'delete' || isReleased(write)
  // Processes wait for a new holder, not for a renewal.
  if (write.table === 'leases') return write.kind !== 'update' || write.set.holder !== undefined
  // A heartbeat changes nothing for other processes.
  return write.table !== 'nodes' || write.kind !== 'update'
}

/** A reader that leaves releases its messages, which others wait for. Taking a message is not announced. */
function isReleased(write: Extract<Write, { readonly table: 'inbox' }>): boolean {
  return write.kind === 'update' && write.set.leaseOwner === null && typeof write.where.leaseOwner === 'string'
}

/**
 * Most calls start at once and end with the answer to their caller, which concerns no other process: announcing them would make
 * every call slower. A result that did not reach its caller is found when `tellAt` has come.
 */
function isStateChange(write: Extract<Write, { readonly table: 'operations' }>): boolean {
  if (write.kind === 'insert') return write.row.state !== 'leased'
  if (write.kind !== 'update') return false
  const { state, cancelRequestedAt = null, tellAt = null, updatedAt = 0 } = write.set
  if (state === undefined) return cancelRequestedAt !== null
  const isAnswered = write.where.state === 'leased' && tellAt !== null && tellAt > updatedAt
  return state !== 'leased' && !isAnswered
}

function idsOf(write: Write): ChangedRows['ids'] {
  if (write.table === 'activity' || write.table === 'inbox') return workspacesOf(write)
  if (write.kind === 'insert') return [write.row.id]
  const { id } = write.where as { readonly id?: string | { readonly in?: readonly string[] } }
  if (typeof id === 'string') return [id]
  return id?.in ?? 'any'
}

/** A process waits for the log or inbox of a workspace, and does not know the ids of new rows. */
function workspacesOf(write: Extract<Write, { readonly table: 'activity' | 'inbox' }>): ChangedRows['ids'] {
  if (write.kind === 'insert') return [write.row.workspaceId]
  return typeof write.where.workspaceId === 'string' ? [write.where.workspaceId] : 'any'
}

/** The time of the store, which all processes on it use: one process writes a time that others compare. */
export interface SharedTime {
  /** Sets the clock of this process to the store's. Call it before treating another process's lease as expired. */
  align(): Promise<void>
}

export interface SharedTimeDeps {
  readonly clock: FollowingClock
  readonly log: Log
  /** The store's time. */
  time(): Promise<number>
}

/** A smaller difference may be network delay, and matters to no lease. */
const TOLERATED_MS = 100
/** NTP keeps clocks closer than that, so a larger difference is logged. */
const LOGGED_MS = 2_000

export function createSharedTime({ clock, log, time }: SharedTimeDeps): SharedTime {
  async function align(): Promise<void> {
    const askedAt = clock.now()
    const storeTime = await time()
    const now = clock.now()
    // The store read its clock at some moment between request and response.
    const uncertaintyMs = (now - askedAt) / 2
    const aheadMs = now - (storeTime + uncertaintyMs)
    const isWrong = Math.abs(aheadMs) > TOLERATED_MS + uncertaintyMs
    clock.setTo(isWrong ? now - aheadMs : now)
    if (isWrong && Math.abs(aheadMs) > LOGGED_MS) log.warn(CLOCK_WARNING, { aheadSeconds: Math.round(aheadMs / 1000) })
  }

  clock.onDoubt(() => {
    align().catch(error => log.warn("the database's time could not be read", { error: messageOf(error) }))
  })
  return { align }
}

const CLOCK_WARNING =
  "This machine's clock and the database's do not agree. The database's time is used: set this machine's, as NTP does"
