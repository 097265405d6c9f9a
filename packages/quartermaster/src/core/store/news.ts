import { messageOf, type Table } from '../../contracts/index.ts'
import { type FollowingClock, type Log } from '../kernel/index.ts'
import { type Write } from './write.ts'

/** Rows of one table that have changed: these, or any of them. Of `activity` and `inbox` the ids are those of the workspaces. */
export interface ChangedRows {
  readonly table: Table
  readonly ids: readonly string[] | 'any'
}

/** Notified of changes by other processes: caches of the store, and code that waits for rows. */
export interface NewsListener {
  /** Another process has changed rows. They are the truth; this only says where to look. */
  changed(rows: readonly ChangedRows[]): void
  /** Nothing is heard from now on: what is remembered does not count until it is. */
  lost?(): void
  /** News are heard again. Anything may have changed meanwhile. */
  back(): void
}

/** News of what other processes commit to the same store. They may come late or twice, and none of a commit comes before it. */
export interface StoreNews {
  listen(listener: NewsListener): () => void
  /** Whether news are heard now. */
  isConnected(): boolean
}

/** The rows a commit changes in a way that another process may wait for. */
export function newsOf(writes: readonly Write[]): readonly ChangedRows[] {
  const rows: ChangedRows[] = []
  for (const write of writes) {
    if (isNews(write)) rows.push({ table: write.table, ids: idsOf(write) })
  }
  return mergeChanges(rows)
}

/** One entry for each table, each row once. */
export function mergeChanges(rows: readonly ChangedRows[]): readonly ChangedRows[] {
  if (rows.length < 2) return rows
  const byTable = new Map<Table, Set<string> | 'any'>()
  for (const { table, ids } of rows) {
    const known = byTable.get(table)
    if (known === 'any') continue
    byTable.set(table, ids === 'any' ? 'any' : new Set([...(known ?? []), ...ids]))
  }
  return [...byTable].map(([table, ids]) => ({ table, ids: ids === 'any' ? ids : [...ids] }))
}

/** No process waits for these. */
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
  if (write.table === 'operations') return isStep(write)
  // What was sent is waited for, and what was acknowledged makes way for what is behind it. The rest is housekeeping.
  if (write.table === 'activity') return write.kind === 'insert'
  if (write.table === 'inbox') return write.kind === 'delete' || isGivenBack(write)
  // Who has it is waited for; that it is still the same one is not.
  if (write.table === 'leases') return write.kind !== 'update' || write.set.holder !== undefined
  // That a process is still there changes nothing for the others.
  return write.table !== 'nodes' || write.kind !== 'update'
}

/** A reader that is gone also gives back what it had, which is waited for; a reader that takes something is not news. */
function isGivenBack(write: Extract<Write, { readonly table: 'inbox' }>): boolean {
  return write.kind === 'update' && write.set.leaseOwner === null && typeof write.where.leaseOwner === 'string'
}

/**
 * Most calls begin at once and end with their caller's answer, which concerns no other process: announcing them would cost
 * every call something. An end that did not reach its caller is found when its time has come.
 */
function isStep(write: Extract<Write, { readonly table: 'operations' }>): boolean {
  if (write.kind === 'insert') return write.row.state !== 'leased'
  if (write.kind !== 'update') return false
  const { state, cancelRequestedAt = null, tellAt = null, updatedAt = 0 } = write.set
  if (state === undefined) return cancelRequestedAt !== null
  const isHeard = write.where.state === 'leased' && tellAt !== null && tellAt > updatedAt
  return state !== 'leased' && !isHeard
}

function idsOf(write: Write): ChangedRows['ids'] {
  if (write.table === 'activity' || write.table === 'inbox') return whoseIn(write)
  if (write.kind === 'insert') return [write.row.id]
  const { id } = write.where as { readonly id?: string | { readonly in?: readonly string[] } }
  if (typeof id === 'string') return [id]
  return id?.in ?? 'any'
}

/** Of logs and inboxes the owning workspaces are announced: a process waits for a workspace, and has never seen the row. */
function whoseIn(write: Extract<Write, { readonly table: 'activity' | 'inbox' }>): ChangedRows['ids'] {
  if (write.kind === 'insert') return [write.row.workspaceId]
  return typeof write.where.workspaceId === 'string' ? [write.where.workspaceId] : 'any'
}

/** The time that all processes on a store go by, which is the store's own: what one writes as a time the others judge. */
export interface SharedTime {
  /** Sets the clock of this process by the store. Call it before treating another process's lease as expired. */
  align(): Promise<void>
}

export interface SharedTimeDeps {
  readonly clock: FollowingClock
  readonly log: Log
  /** What the store says now. */
  time(): Promise<number>
}

/** Less is the time that answers take, and matters to no lease. */
const TOLERATED_MS = 100
/** More is nothing that time servers leave, and worth a word. */
const WORTH_A_WORD_MS = 2_000

export function createSharedTime({ clock, log, time }: SharedTimeDeps): SharedTime {
  async function align(): Promise<void> {
    const askedAt = clock.now()
    const said = await time()
    const now = clock.now()
    // It was said at some moment in between.
    const doubtMs = (now - askedAt) / 2
    const wrongMs = now - (said + doubtMs)
    const isWrong = Math.abs(wrongMs) > TOLERATED_MS + doubtMs
    clock.setTo(isWrong ? now - wrongMs : now)
    if (isWrong && Math.abs(wrongMs) > WORTH_A_WORD_MS)
      log.warn(OTHER_TIME, { aheadSeconds: Math.round(wrongMs / 1000) })
  }

  clock.onDoubt(() => {
    align().catch(error => log.warn('what time it is could not be asked', { error: messageOf(error) }))
  })
  return { align }
}

const OTHER_TIME =
  "This machine's clock and the database's do not agree, and the database's counts: set this machine's, as NTP does"
