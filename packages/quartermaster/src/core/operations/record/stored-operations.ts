import {
  AppError,
  isAppError,
  type KeptEffect,
  messageOf,
  type NewRow,
  type OperationChange,
  type Settings,
  toAppError,
} from '../../../contracts/index.ts'
import type { Clock, Emitter, Ids, Log } from '../../kernel/index.ts'
import { insert, isUnkeepable, type Store, update, type Write } from '../../store/index.ts'
import { GRANT_GUARD } from '../consent/consent-writes.ts'
import { createAuditBatch } from './audit-batch.ts'
import { auditRow } from './audit-row.ts'
import { createDurableWriter, type DurableWriter } from './durable-writer.ts'
import { outcomeAfter } from './in-doubt.ts'
import { sealEffects } from './kept-effects.ts'
import {
  type Begun,
  isRecorded,
  type OperationEnd,
  type OperationLog,
  type OperationRecord,
  type RunningOperation,
} from './operation-log.ts'
import { FIRST_FENCE, rowOf, waitingRowOf } from './operation-row.ts'
import { giveUpAt, type Standing } from './standing.ts'
import type { StorageAccess } from './storage.ts'
import { resultWrites } from './stored-results.ts'
import { ended, opened, queued, type Step } from './transitions.ts'
import { isUnseen } from './unseen-commit.ts'

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
  /** Calls without a record, of which nobody else ever hears: they have no lease and nothing to wait for. */
  const unrecorded = new Map<string, RunningOperation>()
  /** What has ended here and is still to be written. */
  const owed = new Set<string>()
  const audit = createAuditBatch(deps)
  const writer: DurableWriter = createDurableWriter(deps)
  let onIdle = () => {}

  async function record(call: Running, consent: readonly Write[]): Promise<Begun> {
    try {
      const { store, sealer } = await storage.open()
      const row = rowOf(call.record, { owner, until: leaseEnd(), sealer })
      const begun = await open(store, row, consent, () => (call.row = 'perhaps'))
      if (begun === 'begun') call.row = 'there'
      else forget(call)
      return begun
    } catch (error) {
      throw notRecorded(call.record, error)
    }
  }

  async function open(
    store: Store,
    row: NewRow<'operations'>,
    more: readonly Write[],
    onUnseen: () => void,
  ): Promise<Begun> {
    const { writes, change } = opened(row)
    const all = [...writes, ...more]
    const outcome = await store.commit(all).catch(error => {
      if (!isUnseen(error)) throw error
      // However the second try ends, the first may be there.
      onUnseen()
      return store.commit(all)
    })
    if (!outcome.committed && !(await store.get('operations', row.id)))
      return outcome.failed.guard === GRANT_GUARD ? 'unallowed' : 'known'
    // A second try finds the row of the first, if that was written after all.
    emitter.emit('operation.changed', change)
    return 'begun'
  }

  /** The last that this run has to say. It counts only while the run is this process's. */
  async function conclude(call: Running, step: Step, { audit: line, ...end }: Least): Promise<void> {
    try {
      await say(call, step, line).catch(error => {
        if (!isAppError(error) || error.cause === undefined || !isUnkeepable(error.cause)) throw error
        // Something in it no store takes. What is left of it is on record, or it would stand there as if it were running.
        return say(call, endOf(call, { ...end, id: call.record.id, result: undefined, audit: line }), line)
      })
    } finally {
      forget(call)
    }
  }

  async function say(call: Running, { writes, change }: Step, line: OperationEnd['audit']): Promise<void> {
    const own = call.row === 'there' ? writes : writes.map(notWhereThereIsNone)
    const all = [...own, insert('audit', auditRow(ids.next('audit'), line))]
    const isWritten = await writer.write(all, `the end of "${call.record.id}"`, {
      onLate: writing => void sayLate(call.standing, change, writing),
    })
    if (isWritten) emitter.emit('operation.changed', change)
    else await refuseLost(call, change.to)
  }

  /** It is not lost while this process still knows how it ended: its lease is kept, and nobody runs it again meanwhile. */
  async function sayLate(standing: Standing, change: OperationChange, writing: Promise<boolean>): Promise<void> {
    owed.add(standing.id)
    try {
      const isWritten = await writing
      if (change.isTold) await sayUntold(standing, change)
      else if (isWritten) emitter.emit('operation.changed', change)
    } catch {
      // The writer has logged it, and tries on where it can.
    } finally {
      owed.delete(standing.id)
    }
  }

  /** Whoever waited for the answer has heard that nobody knows. Now somebody does, and that is told. */
  async function sayUntold({ id, fence }: Standing, change: OperationChange): Promise<void> {
    const where = { id, fence, state: change.to, tellAt: null }
    const set = { announcedAt: null, tellAt: Math.round(clock.now()) }
    const writes = [update('operations', { where, set, guard: 'operation.told' })]
    if (await writer.write(writes, `that the end of "${id}" is to be told`))
      emitter.emit('operation.changed', { ...change, isTold: false })
  }

  /** Whoever asked for it was told that it was not run: then nobody is to be asked about it, and nobody to run it. */
  function takeBack(given: OperationRecord, failure: AppError): void {
    const now = Math.round(clock.now())
    const parked = { ...firstStanding(given), state: 'waitingForApproval', fence: 0, startedAt: null } as const
    const error = failure.toJSON()
    const end = { state: 'cancelled', outcome: undefined, result: undefined, error, isTold: true } as const
    const { writes } = ended(parked, end, { now, keepMs: given.ttlMs ?? settings.operationDays * DAY_MS })
    writer.write(writes, `that "${given.id}" was not run`).catch(() => {
      // The writer has logged it, and tries on where it can.
    })
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
    return { ...step, writes: [...step.writes, ...resultWrites(record, end.pages ?? [], now)] }
  }

  async function keep({ record: { id }, standing }: Running, effects: readonly KeptEffect[]): Promise<boolean> {
    const { store, sealer } = await storage.open()
    const where = { id, state: 'leased' as const, fence: standing.fence }
    const set = sealEffects(id, effects, sealer)
    return (await store.commit([update('operations', { where, set, guard: 'operation.leased' })])).committed
  }

  function leaseEnd(): number {
    return Math.round(clock.now() + settings.leaseSeconds * 1000)
  }

  function forget({ record: { id }, waiting }: Running): void {
    running.delete(id)
    for (const tell of waiting) tell()
    if (isIdle()) onIdle()
  }

  const isIdle = () => running.size + unrecorded.size === 0

  /** A run is known here by its id: a second one beside it could end under the first one's word. */
  function enter(call: Running): Running {
    const { id } = call.record
    if (running.has(id)) throw new AppError('INTERNAL', `The operation "${id}" runs here already.`)
    running.set(id, call)
    return call
  }

  return {
    begin(given, consent = []) {
      if (isRecorded(given))
        return record(enter({ ...fresh(given, firstStanding(given)), row: 'none', isAwaited: true }), consent)
      unrecorded.set(given.id, { record: given, progress: undefined })
      return undefined
    },
    async park(given, approval) {
      let isPerhapsThere = false
      try {
        const { store, sealer } = await storage.open()
        const row = waitingRowOf(given, { expiresAt: approval.expiresAt, sealer })
        const begun = await open(store, row, [insert('approvals', approval)], () => (isPerhapsThere = true))
        return begun === 'begun' ? 'begun' : 'known'
      } catch (error) {
        const failure = notRecorded(given, error)
        if (isPerhapsThere) takeBack(given, failure)
        throw failure
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
      if (call && call.row !== 'none') return conclude(call, endOf(call, end), leastOf(end))
      if (call) forget(call)
      if (unrecorded.delete(end.id) && isIdle()) onIdle()
      audit.add(end.audit)
      return undefined
    },
    async keepEffects(id, effects) {
      const call = running.get(id)
      if (!call || call.row === 'none') return
      const committed = await keep(call, effects).catch(error => {
        throw notRecorded(call.record, error)
      })
      if (!committed) throw new AppError('STORE_BUSY', `Somebody else has taken over "${id}".`)
    },
    async delay({ id, dueAt, error, hasRun, audit: line }) {
      const call = running.get(id)
      if (!call) return
      // Waiting for what is missing is no attempt, and neither is one that this process did not come to, or was not allowed.
      const isNone = !hasRun && NOT_BEGUN.has(error.code)
      const attempts = call.standing.attempts - (isNone ? 1 : 0)
      const outcome = outcomeAfter(error, hasRun)
      const later = {
        outcome,
        dueAt: dueAt === undefined ? null : Math.round(dueAt),
        error,
        attempts,
        expiresAt: giveUpAt(call.standing, settings),
      }
      const step = queued(call.standing, later, Math.round(clock.now()))
      // Whoever waited gets a handle, and hears of the end when that comes.
      await conclude({ ...call, isAwaited: false }, step, leastOf({ state: 'exhausted', outcome, error, audit: line }))
    },
    running: () => [...running.values(), ...unrecorded.values()],
    recorded: () => [...running.keys(), ...owed],
    isRunning: id => running.has(id) || owed.has(id),
    ended(id) {
      const call = running.get(id)
      return call ? new Promise(resolve => call.waiting.add(resolve)) : Promise.resolve()
    },
    async stop() {
      if (!isIdle()) await new Promise<void>(resolve => (onIdle = resolve))
      await Promise.all([audit.stop(), writer.stop()])
    },
  }
}

/** What can always be written of an end. */
type Least = Pick<OperationEnd, 'state' | 'outcome' | 'error' | 'audit'>

function leastOf({ state, outcome, error, audit }: Least): Least {
  if (!error) return { state, outcome, error, audit }
  const { code, kind, retry } = error
  const message = `It ended with ${code}; what else there is to say about it could not be written down.`
  return { state, outcome, error: { code, kind, retry, message }, audit }
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
    sealedEffects: null,
  }
}

/** A row that nobody saw being written may not be there, and its end must still reach the audit. */
function notWhereThereIsNone(write: Write): Write {
  return write.kind === 'update' ? { ...write, rows: 'any' } : write
}

/** Why a run that was about to begin did not. */
const NOT_BEGUN: ReadonlySet<string> = new Set(['STOPPING', 'CONSENT_REQUIRED', 'TOOL_DISABLED'])

/** Codes that say themselves what to do; anything else would read as if the tool had failed. */
const TELLING = new Set(['STORE_BUSY', 'STORE_LOCKED', 'CONFIG_INVALID', 'STOPPING'])

function notRecorded({ tool }: OperationRecord, error: unknown): AppError {
  if (TELLING.has(toAppError(error).code)) return toAppError(error)
  const message = `"${tool}" was not run, because the call could not be written down first: ${messageOf(error)}`
  return new AppError('STORE_UNAVAILABLE', message, { cause: error, details: { tool } })
}
