import {
  type AuditEntry,
  type AuditLine,
  type AuditRow,
  messageOf,
  type NewRow,
  type OperationRow,
  toKeepable,
} from '../../../contracts/index.ts'
import { type Cancel, type Clock, type Ids, type Log } from '../../kernel/index.ts'
import { insert } from '../../store/index.ts'
import { callerColumns, callerOf, type StorageAccess } from './operation-storage.ts'

/** The audit of calls that have no record of their own. It is written in batches, and no call waits for it. */
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

/** One commit takes a millisecond or two, whether it holds one line or this many. */
const LARGEST_BATCH = 256
/** How long a line may wait for company; what a crash can lose. */
const LONGEST_WAIT_MS = 1_000
/** About 5 MB. A store that is this far behind will not catch up, and memory must not pay for it. */
const MOST_WAITING = 10_000

export function createAuditBatch({ storage, clock, ids, log }: AuditBatchDeps): AuditBatch {
  let waiting: AuditEntry[] = []
  /** The batch that is being written. It keeps its ids, so that a batch whose commit had an unknown outcome is not written twice. */
  let batch: readonly NewRow<'audit'>[] = []
  let dropped = 0
  /** The last try failed. Then only the clock starts the next: calls would start one each, as fast as they come. */
  let isFailing = false
  let cancelTimer: Cancel | undefined
  let flushing: Promise<void> | undefined
  /** What came during a write has waited long enough, or is many: it is written as soon as that is over. */
  let isDue = false

  const left = () => waiting.length + batch.length

  function arm(): void {
    cancelTimer ??= clock.after(LONGEST_WAIT_MS, flush)
  }

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
    else if (left() > 0) arm()
  }

  /** What comes meanwhile waits for company of its own: written at once, it would be a commit for every few lines, without end. */
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

  /** Whether the batch is in the store now. Lines that were there already come from a commit with an unknown outcome. */
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

  /** Also what comes while the last of it is written. */
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
      // A process that has written nothing does not open a store to say that it has read something.
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

/** A line of the audit as the store keeps it. */
export function auditRow(id: string, entry: AuditEntry): NewRow<'audit'> {
  const { at, operationId, caller, digest, decision, outcome, mutates, durationMs, consent } = entry
  const { organisation, workspace, callerKind, callerName } = callerColumns(caller)
  return {
    id,
    organisation,
    workspace,
    callerKind,
    callerName,
    at: Math.round(at),
    operationId,
    tool: keepable(entry.tool),
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

/** A line of the audit as it is shown. */
export function toAuditLine({ organisation: _organisation, ...line }: AuditRow): AuditLine {
  return line
}

const LONGEST_NAME = 128

/** A refused call may name anything as its tool. A name that no store takes would block the whole batch. */
function keepable(name: string): string {
  return toKeepable(name.slice(0, LONGEST_NAME))
}

/** The audit line of an operation that ended, or was postponed, without a caller. */
export function auditOfRow(
  row: OperationRow,
  {
    at,
    outcome,
    code,
    consent,
  }: Pick<AuditEntry, 'at' | 'outcome'> & { code: string | undefined; consent?: AuditEntry['consent'] | undefined },
): AuditEntry {
  const entry: AuditEntry = {
    at,
    operationId: row.id,
    caller: callerOf(row),
    tool: row.tool,
    digest: row.digest,
    decision: outcome === 'notRun' ? 'refused' : 'allowed',
    outcome,
    mutates: row.mutates,
    durationMs: at - (row.startedAt ?? row.createdAt),
  }
  if (code !== undefined) entry.code = code
  if (consent !== undefined) entry.consent = consent
  return entry
}
