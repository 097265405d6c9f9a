import {
  AppError,
  type OperationRow,
  type OperationState,
  type OperationVerification,
  type Settings,
  type ToolResult,
} from '../../../contracts/index.ts'
import { type CancelSignal, type Clock, type Emitter, type Ids } from '../../kernel/index.ts'
import { insert, type Store, update } from '../../store/index.ts'
import { auditOfRow, auditRow } from './audit.ts'
import { type OperationLog } from './operation-log.ts'
import {
  alreadyDone,
  callerOf,
  endTerms,
  type OperationSnapshot,
  type StorageAccess,
  type WhereAwaited,
} from './operation-storage.ts'
import { canRepeat, ERASED, ended, isInDoubt, queued, type Step } from './transitions.ts'
import { type FailureVerifier, mayBeDone } from './verify-after-failure.ts'

/** What a person can do about an operation. The caller was authorised before. */
export interface OperationAdmin {
  /** Has one tried that waits for its time, or tried again that did not do what was asked for. */
  retry(id: string): Promise<void>
  /**
   * Ends a waiting operation, as done where an earlier run turns out to have done all of it; or tells a running one to stop. A
   * run that is about to end is awaited.
   */
  cancel(id: string): Promise<Cancelled>
  /**
   * Verifies the effects of an operation. An operation with an unknown outcome is recorded as done when all of them are there.
   * Nothing else changes. Throws `REQUEST_REFUSED` where there is nothing to verify.
   */
  verify(id: string, options?: { readonly signal?: CancelSignal | undefined }): Promise<Verification>
  /** Drops an operation that could be retried, permanently: its arguments are forgotten. */
  drop(id: string): Promise<void>
}

/** The outcome: it waited, and is over; an earlier run had done it; its run is told to stop; or it had just ended. */
type Cancelled = 'cancelled' | 'done' | 'told' | 'over'

/** What a look found, and how the operation was on record before, where that has changed. */
type Verification = Omit<OperationVerification, 'operation'>

/** What runs in this process. */
export interface RunningCalls {
  /** Ends what one operation is doing. It is told to, or is ending already, or is not here. */
  cancel(operationId: string, reason: AppError): 'told' | 'ending' | 'notHere'
}

interface OperationAdminDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly emitter: Emitter
  readonly calls: RunningCalls
  readonly operations: Pick<OperationLog, 'ended'>
  /** Where the caller waits, and so gets the result as the answer. */
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

  /** Another process may change the operation at the same moment; the second gets an error. */
  async function take(
    store: Store,
    row: OperationSnapshot,
    { writes, change }: Step,
    line: readonly ReturnType<typeof insert>[],
  ) {
    const { committed } = await store.commit([...writes, ...line])
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

  /** It ended differently than recorded. A caller that was notified of the former end is notified of this one. */
  async function foundDone(store: Store, row: OperationRow, result: ToolResult): Promise<void> {
    const now = Math.round(clock.now())
    const end = { state: 'succeeded', outcome: 'succeeded', result, error: undefined, isTold: false } as const
    const line = auditOfRow(row, { at: now, outcome: 'succeeded', code: undefined })
    await take(store, row, ended(row, end, endTerms(now, row, settings)), [
      insert('audit', auditRow(ids.next('audit'), line)),
    ])
  }

  async function forget(store: Store, row: OperationRow): Promise<void> {
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
      if (!isWaiting && !canRepeat(row)) throw notAgain(row)
      await take(store, row, again(row, Math.round(clock.now())), [])
    },
    async cancel(id) {
      const { store } = await storage.open()
      const row = await find(store, id)
      if (row.endedAt !== null) throw overAlready(row)
      return row.state === 'leased' ? await cancelRun(store, row) : await cancelWaiting(store, row)
    },
    async verify(id, { signal } = {}) {
      const { store } = await storage.open()
      const row = await find(store, id)
      const found = row.state === 'leased' ? undefined : await failureVerifier.verify(row, { signal })
      if (!found) throw nothingToSee(row)
      if (found.verdict !== 'verified' || !isInDoubt(row.state)) return found
      await foundDone(store, row, alreadyDone({ name: row.tool, effects: found.effects }, id).result)
      return { ...found, changedFrom: row.state }
    },
    async drop(id) {
      const { store } = await storage.open()
      const row = await find(store, id)
      if (!canRepeat(row)) throw notAgain(row)
      await forget(store, row)
    },
  }

  async function cancelWaiting(store: Store, row: OperationRow): Promise<Cancelled> {
    const result = await failureVerifier.resultOf(row)
    if (result) {
      await foundDone(store, row, result)
      return 'done'
    }
    const now = Math.round(clock.now())
    const line = auditOfRow(row, { at: now, outcome: 'notRun', code: 'CANCELLED' })
    await take(store, row, cancelled(row, now), [insert('audit', auditRow(ids.next('audit'), line))])
    return 'cancelled'
  }

  /** The process that runs it hears of it, and stops it as if it had been asked. */
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
    throw new AppError(
      'STORE_BUSY',
      `The operation "${id}" has ended, and how is still to be written. Look at it again.`,
    )
  }
}

/** The audit code when the owner drops an operation. */
const DROPPED = 'OPERATION_DROPPED'

function justChanged(id: string): AppError {
  return new AppError('STORE_BUSY', `The operation "${id}" has just changed. Look at it again.`)
}

function notAgain({ id, tool, state }: OperationRow): AppError {
  const message =
    state === 'waitingForApproval'
      ? `The operation "${id}" waits for a person to allow "${tool}", and runs once allowed. See \`quartermaster approvals show ${id}\`.`
      : `The operation "${id}" is ${state}, so there is nothing to try again. Call "${tool}" again if you want it done.`
  return new AppError('REQUEST_REFUSED', message, { details: { operationId: id, state } })
}

function nothingToSee(row: OperationRow): AppError {
  const { id, state } = row
  const message = `There is nothing to look at for "${id}": ${whyNothing(row)}`
  return new AppError('REQUEST_REFUSED', message, { details: { operationId: id, state } })
}

function whyNothing({ tool, state, attempts, effects, endedAt }: OperationRow): string {
  if (state === 'leased') return 'it runs right now. Look when it has ended.'
  if (endedAt === null && attempts === 0) return `it has not run, and waits for ${TURN[state] ?? 'its turn'}.`
  if (effects.length === 0) return `"${tool}" does not say what it leaves behind, or had not begun.`
  if (state === 'succeeded') return 'all it was to leave behind was there when it ended, and what that was is not kept.'
  return `it is ${state}, and what it was to leave behind is not kept any more.`
}

const TURN: { readonly [S in OperationState]?: string } = { waitingForApproval: 'a person to allow it' }

function overAlready({ id, state }: OperationRow): AppError {
  const message = `The operation "${id}" is over (${state}), so there is nothing to cancel.`
  return new AppError('REQUEST_REFUSED', message, { details: { operationId: id, state } })
}
