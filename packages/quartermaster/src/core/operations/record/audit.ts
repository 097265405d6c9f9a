import {
  type AuditEntry,
  type AuditLine,
  type AuditRow,
  messageOf,
  type NewRow,
  type OperationRow,
  toStorable,
} from '../../../contracts/index.ts'
import { type Cancel, type Clock, type Ids, type Log } from '../../kernel/index.ts'
import { insert } from '../../store/index.ts'
import { callerColumns, callerOf, type StorageAccess } from './operation-storage.ts'

/** Writes the audit of calls without a record in batches, so that no call waits for it. */
interface AuditBatch {
  add(entry: AuditEntry): void
  /** Writes what is left. */
  stop(): Promise<void>
}

interface AuditBatchDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
}

/** A commit takes a millisecond or two, whether it holds one line or this many. */
const LARGEST_BATCH = 256
/** How long a line waits for a batch; what a crash can lose. */
const LONGEST_WAIT_MS = 1_000
/** About 5 MB. A store that is this far behind will not catch up, and must not fill the memory. */
const MOST_WAITING = 10_000

export function createAuditBatch({ storage, clock, ids, log }: AuditBatchDeps): AuditBatch {
  let waiting: AuditEntry[] = []
  /** The batch being written. It keeps its ids, so that a retry after an unknown outcome does not write it twice. */
  let batch: readonly NewRow<'audit'>[] = []
  let dropped = 0
  /** After a failure only the timer starts the next try: otherwise every call would start one. */
  let isFailing = false
  let cancelTimer: Cancel | undefined
  let flushing: Promise<void> | undefined
  /** A flush came due during a write, and follows it immediately. */
  let isDue = false

  const left = () => waiting.length + batch.length

  function flush(): void {
    cancelTimer?.()
    cancelTimer = undefined
    isDue = flushing !== undefined
    flushing ??= writeAll().finally(() => {
      flushing = undefined
      if (isDue && !isFailing) flush()
      else writeOrWait()
    })
  }

  function writeOrWait(): void {
    if (waiting.length >= LARGEST_BATCH && !isFailing) flush()
    else if (left() > 0) cancelTimer ??= clock.after(LONGEST_WAIT_MS, flush)
  }

  /** Entries that come meanwhile wait for the next batch: writing them too would mean a commit every few lines, without end. */
  async function writeAll(): Promise<void> {
    reportDropped()
    let wanted = left()
    while (wanted > 0) {
      if (batch.length === 0) {
        const taken = waiting.slice(0, Math.min(wanted, LARGEST_BATCH))
        batch = taken.map(entry => auditRow(ids.next('audit'), entry))
        waiting = waiting.slice(taken.length)
      }
      isFailing = !(await write())
      if (isFailing) return
      wanted -= batch.length
      batch = []
    }
  }

  /** Whether the batch is stored. A failed guard means that an earlier commit with an unknown outcome had stored it. */
  async function write(): Promise<boolean> {
    try {
      const { store } = await storage.open()
      await store.commit(batch.map(row => insert('audit', row)))
      return true
    } catch (error) {
      log.warn('the audit could not be written and is tried again', { lines: batch.length, error: messageOf(error) })
      return false
    }
  }

  /** Including entries that come during the last write. */
  async function writeRest(): Promise<void> {
    flush()
    await flushing
    if (left() > 0 && !isFailing) await writeRest()
  }

  function reportDropped(): void {
    if (dropped > 0) log.warn('lines of the audit were dropped, because the store cannot keep up', { dropped })
    dropped = 0
  }

  return {
    add(entry) {
      // A process that has only read something does not open a store for its audit.
      if (!storage.current()) return
      if (waiting.length >= MOST_WAITING) {
        waiting.shift()
        dropped++
      }
      waiting.push(entry)
      writeOrWait()
    },
    async stop() {
      await flushing
      await writeRest()
      cancelTimer?.()
      const lost = left() + dropped
      if (lost > 0) log.error('the end of the audit could not be written', { lost })
    },
  }
}

const LONGEST_NAME = 128

/** An audit entry as a row. */
export function auditRow(id: string, entry: AuditEntry): NewRow<'audit'> {
  const { at, operationId, caller, digest, decision, outcome, mutates, durationMs, consent } = entry
  return {
    id,
    ...callerColumns(caller),
    at: Math.round(at),
    operationId,
    // A refused call may name anything as its tool. A name that no store takes would block the whole batch.
    tool: toStorable(entry.tool.slice(0, LONGEST_NAME)),
    digest,
    decision,
    outcome,
    code: entry.code ?? null,
    consent: consent ? consentOf(consent) : null,
    mutates,
    durationMs: Math.max(0, durationMs),
  }
}

function consentOf({ operations, by, lasting }: NonNullable<AuditEntry['consent']>): AuditRow['consent'] {
  return { operations: [...operations], by, ...(lasting === undefined ? {} : { lasting }) }
}

/** An audit row as it is shown. */
export function toAuditLine({ organisation: _organisation, ...line }: AuditRow): AuditLine {
  return line
}

/** The audit entry of an operation that ended, or was postponed, without a caller. */
export function auditOfRow(
  row: OperationRow,
  end: Pick<AuditEntry, 'at' | 'outcome'> & { code: string | undefined; consent?: AuditEntry['consent'] | undefined },
): AuditEntry {
  const { at, outcome, code, consent } = end
  return {
    at,
    operationId: row.id,
    caller: callerOf(row),
    tool: row.tool,
    digest: row.digest,
    decision: outcome === 'notRun' ? 'refused' : 'allowed',
    outcome,
    mutates: row.mutates,
    durationMs: at - (row.startedAt ?? row.createdAt),
    ...(code === undefined ? {} : { code }),
    ...(consent === undefined ? {} : { consent }),
  }
}
