import {
  AppError,
  type AuditEntry,
  type OperationRow,
  type OperationVerification,
  type Settings,
  type ToolResult,
} from '../../../contracts/index.ts'
import { type CancelSignal, type Clock, type Emitter, type Ids } from '../../kernel/index.ts'
import { insert, type Store, update } from '../../store/index.ts'
import { auditOfRow, auditRow } from './audit.ts'
import { type OperationLog } from './operation-log.ts'
import {
  callerOf,
  endTerms,
  type OperationSnapshot,
  type StorageAccess,
  type WhereAwaited,
} from './operation-storage.ts'
import { canRepeat, ERASED, ended, isInDoubt, queued, type Step } from './transitions.ts'
import { alreadyDone, type FailureVerifier, mayBeDone } from './verify-after-failure.ts'

/** What a person can do with an operation. The caller was authorised before. */
export interface OperationAdmin {
  /** Runs a queued operation now, or retries one that ended without doing its work. */
  retry(id: string): Promise<void>
  /**
   * Ends a waiting operation, as done where an earlier run has done all of it, or tells a running one to stop. Waits for a run
   * that is about to end.
   */
  cancel(id: string): Promise<Cancelled>
  /**
   * Verifies the effects of an operation. An operation with an unknown outcome is recorded as done when all of them are there.
   * Nothing else changes. Throws `REQUEST_REFUSED` where there is nothing to verify.
   */
  verify(id: string, options?: { readonly signal?: CancelSignal | undefined }): Promise<Verification>
  /** Gives up retrying an operation, permanently: its arguments are erased. */
  drop(id: string): Promise<void>
}

/** It waited and is over; an earlier run had done it; its run is told to stop; or it had just ended. */
type Cancelled = 'cancelled' | 'done' | 'told' | 'over'

type Verification = Omit<OperationVerification, 'operation'>

export interface RunningCalls {
  /** Tells a call of this process to stop. */
  cancel(operationId: string, reason: AppError): 'told' | 'ending' | 'notHere'
}

interface OperationAdminDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly emitter: Emitter
  readonly calls: RunningCalls
  readonly operations: Pick<OperationLog, 'ended'>
  /** Where the caller of an operation waits, and so gets the result as its answer. */
  readonly whereAwaited: WhereAwaited
  readonly failureVerifier: FailureVerifier
  readonly settings: Pick<Settings, 'operationDays' | 'retryMaxAgeMinutes'>
}

export function createOperationAdmin(deps: OperationAdminDeps): OperationAdmin {
  const { storage, clock, ids, emitter, calls, failureVerifier, settings } = deps

  async function find(store: Store, id: string): Promise<OperationRow> {
    const row = await store.get('operations', id)
    if (row) return row
    throw new AppError('NAME_UNKNOWN', `There is no operation "${id}". See \`quartermaster operations list\`.`)
  }

  /** Another process may change the operation at the same time; the second gets an error. */
  async function commitStep(store: Store, row: OperationSnapshot, { writes, change }: Step, line?: AuditEntry) {
    const audit = line ? [insert('audit', auditRow(ids.next('audit'), line))] : []
    const { committed } = await store.commit([...writes, ...audit])
    if (!committed) throw justChanged(row.id)
    emitter.emit('operation.changed', change)
  }

  function again(row: OperationRow, now: number): Step {
    const expiresAt = now + settings.retryMaxAgeMinutes * 60_000
    return queued(row, { dueAt: now, error: row.error, attempts: 0, expiresAt }, now)
  }

  function cancelled(row: OperationRow, now: number): Step {
    const when = mayBeDone(row) ? '' : ' before it ran'
    const error = new AppError('CANCELLED', `"${row.tool}" was cancelled${when}.`).toJSON()
    const end = {
      state: 'cancelled',
      outcome: row.outcome ?? undefined,
      result: undefined,
      error,
      isTold: deps.whereAwaited(row, now) !== 'nowhere',
    } as const
    return ended(row, end, endTerms(now, row, settings))
  }

  /** Records an operation as done. A caller that was notified of another end is notified again. */
  async function markDone(store: Store, row: OperationRow, result: ToolResult): Promise<void> {
    const now = Math.round(clock.now())
    const end = { state: 'succeeded', outcome: 'succeeded', result, error: undefined, isTold: false } as const
    const line = auditOfRow(row, { at: now, outcome: 'succeeded', code: undefined })
    await commitStep(store, row, ended(row, end, endTerms(now, row, settings)), line)
  }

  async function erase(store: Store, row: OperationRow): Promise<void> {
    const { id, tool, state, fence } = row
    const at = Math.round(clock.now())
    const line = auditOfRow(row, { at, outcome: 'notRun', code: DROPPED, consent: { operations: [], by: 'owner' } })
    const guard = `operation.${state}`
    const { committed } = await store.commit([
      update('operations', { where: { id, state, fence, arguments: { not: null } }, set: ERASED, guard }),
      insert('audit', auditRow(ids.next('audit'), { ...line, durationMs: 0 })),
    ])
    if (!committed) throw justChanged(id)
    emitter.emit('operation.dropped', { id, tool, caller: callerOf(row), at })
  }

  return {
    async retry(id) {
      const { store } = await storage.open()
      const row = await find(store, id)
      const isWaiting = row.state === 'queued'
      if (!isWaiting && !canRepeat(row)) throw notRetriable(row)
      await commitStep(store, row, again(row, Math.round(clock.now())))
    },
    async cancel(id) {
      const { store } = await storage.open()
      const row = await find(store, id)
      if (row.endedAt !== null) throw alreadyOver(row)
      return row.state === 'leased' ? await cancelRun(store, row) : await cancelWaiting(store, row)
    },
    async verify(id, { signal } = {}) {
      const { store } = await storage.open()
      const row = await find(store, id)
      const found = row.state === 'leased' ? undefined : await failureVerifier.verify(row, { signal })
      if (!found) throw nothingToVerify(row)
      if (found.verdict !== 'verified' || !isInDoubt(row.state)) return found
      await markDone(store, row, alreadyDone({ name: row.tool, effects: found.effects }, id).result)
      return { ...found, changedFrom: row.state }
    },
    async drop(id) {
      const { store } = await storage.open()
      const row = await find(store, id)
      if (!canRepeat(row)) throw notRetriable(row)
      await erase(store, row)
    },
  }

  async function cancelWaiting(store: Store, row: OperationRow): Promise<Cancelled> {
    const result = await failureVerifier.resultOf(row)
    if (result) {
      await markDone(store, row, result)
      return 'done'
    }
    const now = Math.round(clock.now())
    const line = auditOfRow(row, { at: now, outcome: 'notRun', code: 'CANCELLED' })
    await commitStep(store, row, cancelled(row, now), line)
    return 'cancelled'
  }

  /** The process that runs the operation is notified by the store, and stops it. */
  async function cancelElsewhere(store: Store, { id, fence }: OperationRow): Promise<Cancelled> {
    if (storage.current()?.shared?.nodes.isAlone() ?? true)
      throw new AppError('STORE_BUSY', `The operation "${id}" runs in another process. Cancel it there.`)
    const set = { cancelRequestedAt: Math.round(clock.now()) }
    const { committed } = await store.commit([update('operations', { where: { id, state: 'leased', fence }, set })])
    if (!committed) throw justChanged(id)
    return 'told'
  }

  async function cancelRun(store: Store, leased: OperationRow): Promise<Cancelled> {
    const { id, tool } = leased
    const stopped = calls.cancel(id, new AppError('CANCELLED', `"${tool}" was cancelled while it ran.`))
    if (stopped === 'told') return 'told'
    if (stopped === 'notHere') return await cancelElsewhere(store, leased)
    await deps.operations.ended(id)
    const row = await find(store, id)
    if (row.endedAt !== null) return 'over'
    // A cancelled operation must not be retried either.
    if (row.state !== 'leased') return await cancelWaiting(store, row)
    throw new AppError('STORE_BUSY', `The operation "${id}" has ended, but its end is not written yet. Try again.`)
  }
}

/** The audit code when the owner drops an operation. */
const DROPPED = 'OPERATION_DROPPED'

function justChanged(id: string): AppError {
  return new AppError('STORE_BUSY', `The operation "${id}" has just changed. Try again.`)
}

function notRetriable({ id, tool, state }: OperationRow): AppError {
  const message =
    state === 'waitingForApproval'
      ? `The operation "${id}" waits for a person to allow "${tool}", and runs once allowed. See \`quartermaster approvals show ${id}\`.`
      : `The operation "${id}" is ${state}, so there is nothing to try again. Call "${tool}" again if you want it done.`
  return new AppError('REQUEST_REFUSED', message, { details: { operationId: id, state } })
}

function nothingToVerify(row: OperationRow): AppError {
  const { id, state } = row
  const message = `There is nothing to verify for "${id}": ${whyNothing(row)}`
  return new AppError('REQUEST_REFUSED', message, { details: { operationId: id, state } })
}

function whyNothing({ tool, state, attempts, effects, endedAt }: OperationRow): string {
  if (state === 'leased') return 'it runs right now. Verify it when it has ended.'
  if (endedAt === null && attempts === 0)
    return `it has not run, and waits for ${state === 'waitingForApproval' ? 'a person to allow it' : 'its turn'}.`
  if (effects.length === 0) return `"${tool}" declares no effects, or had not begun.`
  if (state === 'succeeded') return 'all its effects were there when it ended, and are not kept.'
  return `it is ${state}, and its effects are not kept any more.`
}

function alreadyOver({ id, state }: OperationRow): AppError {
  const message = `The operation "${id}" is over (${state}), so there is nothing to cancel.`
  return new AppError('REQUEST_REFUSED', message, { details: { operationId: id, state } })
}
