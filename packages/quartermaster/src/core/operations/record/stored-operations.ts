import { AppError, isAppError, messageOf, type NewRow, type Settings, toAppError } from '../../../contracts/index.ts'
import type { Clock, Emitter, Ids, Log } from '../../kernel/index.ts'
import { insert, type Store, update, type Write } from '../../store/index.ts'
import { GRANT_GUARD } from '../consent/consent-writes.ts'
import { createAuditBatch } from './audit-batch.ts'
import { auditRow } from './audit-row.ts'
import { createDurableWriter, type DurableWriter } from './durable-writer.ts'
import { sealEffects } from './kept-effects.ts'
import { type Begun, isRecorded, type OperationEnd, type OperationLog, type OperationRecord } from './operation-log.ts'
import { FIRST_FENCE, rowOf, waitingRowOf } from './operation-row.ts'
import { giveUpAt, type Standing } from './standing.ts'
import type { StorageAccess } from './storage.ts'
import { resultWrites } from './stored-results.ts'
import { ended, opened, queued, type Step } from './transitions.ts'

export interface StoredOperationsDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly emitter: Emitter
  /** Who this process is among those that run operations. */
  readonly owner: string
  readonly settings: Pick<Settings, 'operationDays' | 'leaseSeconds' | 'retryMaxAgeMinutes'>
}

/** A call that runs, and whether its row is in the store: nobody knows when a commit ended without an answer. */
interface Running {
  readonly record: OperationRecord
  readonly standing: Standing
  row: 'none' | 'there' | 'perhaps'
  progress: string | undefined
  /** Whether whoever asked for it waits for the answer. */
  readonly isAwaited: boolean
  /** Told when the end is on record. */
  readonly waiting: Set<() => void>
}

const DAY_MS = 24 * 3_600_000

/** Keeps operations in the store: the record before the run, the end together with its line of the audit. */
export function createStoredOperations(deps: StoredOperationsDeps): OperationLog {
  const { storage, clock, ids, emitter, owner, settings } = deps
  const running = new Map<string, Running>()
  const audit = createAuditBatch(deps)
  const writer: DurableWriter = createDurableWriter(deps)
  let onIdle = () => {}

  async function record(call: Running, consent: readonly Write[]): Promise<Begun> {
    try {
      const { store, sealer } = await storage.open()
      const row = rowOf(call.record, { owner, until: leaseEnd(), sealer })
      const begun = await open(store, row, consent)
      if (begun === 'begun') call.row = 'there'
      return begun
    } catch (error) {
      if (isUnseen(error)) call.row = 'perhaps'
      throw notRecorded(call.record, error)
    }
  }

  async function open(store: Store, row: NewRow<'operations'>, more: readonly Write[]): Promise<Begun> {
    const { writes, change } = opened(row)
    const all = [...writes, ...more]
    const outcome = await store
      .commit(all)
      .catch(error => (isUnseen(error) ? store.commit(all) : Promise.reject(error)))
    if (!outcome.committed && !(await store.get('operations', row.id)))
      return outcome.failed.guard === GRANT_GUARD ? 'unallowed' : 'known'
    // A second try finds the row of the first, if that was written after all.
    emitter.emit('operation.changed', change)
    return 'begun'
  }

  /** The last that this run has to say. It counts only while the run is this process's. */
  async function conclude(call: Running, { writes, change }: Step, line: OperationEnd['audit']): Promise<void> {
    const { record: given, row } = call
    const own = row === 'there' ? writes : writes.map(notWhereThereIsNone)
    const all = [...own, insert('audit', auditRow(ids.next('audit'), line))]
    try {
      const isWritten = await writer.write(all, `the end of "${given.id}"`)
      if (isWritten) emitter.emit('operation.changed', change)
      else await refuseLost(call, change.to)
    } finally {
      forget(call)
    }
  }

  /** A write whose first try nobody saw is there all the same. Else the lease has passed on, and somebody else's word counts. */
  async function refuseLost({ record: { id, tool }, standing, row }: Running, to: string): Promise<void> {
    const { store } = await storage.open()
    const now = await store.get('operations', id)
    if ((now?.fence === standing.fence && now.state === to) || (!now && row === 'perhaps')) return
    const message = `"${tool}" took longer than this process could be waited for, and somebody else has taken it over.`
    throw new AppError('OUTCOME_UNKNOWN', `${message} Look before you call it again.`, { details: { tool } })
  }

  function endOf({ record, standing, isAwaited }: Running, end: OperationEnd): Step {
    const { ttlMs, idempotencyKey } = record
    const now = Math.round(clock.now())
    const keepMs = ttlMs ?? settings.operationDays * DAY_MS
    // Whoever got the answer has it; it is kept for those who come for it later.
    const isFetched = ttlMs !== undefined || idempotencyKey !== undefined || !isAwaited
    const { state, outcome, error } = end
    const result = isFetched ? end.result : undefined
    const isTold = isAwaited && ttlMs === undefined
    const step = ended(standing, { state, outcome, error, result, isTold }, { now, keepMs })
    // Whoever got the answer has only the beginning of a result that was cut.
    return { ...step, writes: [...step.writes, ...resultWrites(record, end.pages ?? [])] }
  }

  function leaseEnd(): number {
    return Math.round(clock.now() + settings.leaseSeconds * 1000)
  }

  function forget({ record: { id }, waiting }: Running): void {
    running.delete(id)
    for (const tell of waiting) tell()
    if (running.size === 0) onIdle()
  }

  function enter(call: Running): Running {
    running.set(call.record.id, call)
    return call
  }

  return {
    begin(given, consent = []) {
      const call = enter({ ...fresh(given, firstStanding(given)), row: 'none', isAwaited: true })
      return isRecorded(given) ? record(call, consent) : undefined
    },
    async park(given, approval) {
      try {
        const { store, sealer } = await storage.open()
        const row = waitingRowOf(given, { expiresAt: approval.expiresAt, sealer })
        return (await open(store, row, [insert('approvals', approval)])) === 'begun' ? 'begun' : 'known'
      } catch (error) {
        throw notRecorded(given, error)
      }
    },
    adopt: (given, standing, { isAwaited } = { isAwaited: false }) =>
      void enter({ ...fresh(given, standing), row: 'there', isAwaited }),
    progress(id, text) {
      const call = running.get(id)
      if (call) call.progress = text
    },
    end(end) {
      const call = running.get(end.id)
      if (call && call.row !== 'none') return conclude(call, endOf(call, end), end.audit)
      if (call) forget(call)
      audit.add(end.audit)
      return undefined
    },
    async keepEffects(id, effects) {
      const call = running.get(id)
      if (!call || call.row === 'none') return
      const { store, sealer } = await storage.open()
      const where = { id, state: 'leased' as const, fence: call.standing.fence }
      const set = sealEffects(id, effects, sealer)
      const { committed } = await store.commit([update('operations', { where, set, guard: 'operation.leased' })])
      if (!committed) throw new AppError('STORE_BUSY', `Somebody else has taken over "${id}".`)
    },
    async delay({ id, dueAt, error, hasRun, audit: line }) {
      const call = running.get(id)
      if (!call) return
      // Waiting for what is missing is no attempt, and neither is one that this process did not come to, or was not allowed.
      const isNone = error.code === 'TOOL_DISABLED' || (!hasRun && NOT_BEGUN.has(error.code))
      const attempts = call.standing.attempts - (isNone ? 1 : 0)
      const outcome = hasRun
        ? error.code === 'OUTCOME_UNKNOWN'
          ? ('unknown' as const)
          : ('failed' as const)
        : undefined
      const later = {
        outcome,
        dueAt: dueAt === undefined ? null : Math.round(dueAt),
        error,
        attempts,
        expiresAt: giveUpAt(call.standing, settings),
      }
      await conclude(call, queued(call.standing, later, Math.round(clock.now())), line)
    },
    running: () => [...running.values()],
    ended(id) {
      const call = running.get(id)
      return call ? new Promise(resolve => call.waiting.add(resolve)) : Promise.resolve()
    },
    async stop() {
      if (running.size > 0) await new Promise<void>(resolve => (onIdle = resolve))
      await Promise.all([audit.stop(), writer.stop()])
    },
  }
}

function fresh(record: OperationRecord, standing: Standing) {
  return { record, standing, progress: undefined, waiting: new Set<() => void>() }
}

/** How a call stands that runs at once. */
function firstStanding({ id, tool, caller, startedAt }: OperationRecord): Standing {
  const { workspace, kind: callerKind, name: callerName } = caller
  const at = Math.round(startedAt)
  const whose = { id, tool, workspace, callerKind, callerName }
  return {
    ...whose,
    state: 'leased',
    fence: FIRST_FENCE,
    attempts: 1,
    createdAt: at,
    startedAt: at,
    expiresAt: null,
    outcome: null,
  }
}

/** A row that nobody saw being written may not be there, and its end must still reach the audit. */
function notWhereThereIsNone(write: Write): Write {
  return write.kind === 'update' ? { ...write, rows: 'any' } : write
}

/** A commit may have happened, and nobody saw it. */
function isUnseen(error: unknown): boolean {
  return isAppError(error) && error.code === 'OUTCOME_UNKNOWN'
}

/** Why a run that was about to begin did not. */
const NOT_BEGUN: ReadonlySet<string> = new Set(['STOPPING', 'CONSENT_REQUIRED'])

/** Codes that say themselves what to do; anything else would read as if the tool had failed. */
const TELLING = new Set(['STORE_BUSY', 'STORE_LOCKED', 'CONFIG_INVALID', 'STOPPING'])

function notRecorded({ tool }: OperationRecord, error: unknown): AppError {
  if (TELLING.has(toAppError(error).code)) return toAppError(error)
  const message = `"${tool}" was not run, because the call could not be written down first: ${messageOf(error)}`
  return new AppError('STORE_UNAVAILABLE', message, { cause: error, details: { tool } })
}
