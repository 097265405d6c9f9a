import { AppError, type OperationRow, type Settings, type ToolResult } from '../../../contracts/index.ts'
import { type Clock, type Emitter, type Ids, type Random } from '../../kernel/index.ts'
import { insert, type Store, update } from '../../store/index.ts'
import { closeRequest } from '../consent/requests.ts'
import { auditOfRow, auditRow } from '../record/audit.ts'
import { endTerms, expiryOf } from '../record/operation-storage.ts'
import { type RetryTerms } from '../record/running-calls.ts'
import { type Ended, ended } from '../record/transitions.ts'
import { type FailureVerifier } from '../record/verify-after-failure.ts'
import { runAll, stepAfterLostRun } from './crash-recovery.ts'

/** Looks after what waits and is not due: what has become too old, what others left, and what can go on again. */
interface Maintenance {
  /** Answers whether there is more of it than one round takes. */
  go(store: Store, isStopped: () => boolean): Promise<boolean>
}

export interface MaintenanceDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly random: Random
  readonly emitter: Emitter
  readonly settings: Pick<Settings, 'operationDays'> & RetryTerms['settings']
  readonly failureVerifier: Pick<FailureVerifier, 'resultOf'>
  /** Whether what an operation waits for is there: all that its tool needs. */
  isReady(operation: Pick<OperationRow, 'tool' | 'callerName'>): boolean
  /** Whether no answer of a person can have it run any more: its definition has changed, or its agent lost the tool. */
  isVoid(operation: Pick<OperationRow, VoidColumn>): boolean
  /** Whether it runs here. */
  isRunning(id: string): boolean
  /** Whether this process has not what it takes, and another one has, or it has itself in a moment. */
  isUndoableHere(operation: OperationRow): boolean
}

/** One round ends as many as this of each kind. */
const BATCH = 64
/** Of those that wait for something other than time, as many are read at once. */
const PAGE = 500
/** What was left to others for so long none of them could do either. */
const LEFT_FOR_MS = 60_000

export function createMaintenance(deps: MaintenanceDeps): Maintenance {
  const { clock, emitter, settings } = deps

  /** Nothing waits for ever, and nothing goes without a word. Answers how many there were of each kind. */
  async function expireOld(store: Store): Promise<number[]> {
    const now = Math.round(clock.now())
    const counts: number[] = []
    for (const state of ['queued', 'waitingForApproval'] as const) {
      const old = await store.find('operations', { where: { state, expiresAt: { atMost: now } }, limit: BATCH })
      await runAll(old, row => cancelOperation(store, row, now))
      counts.push(old.length)
    }
    return counts
  }

  async function cancelOperation(store: Store, row: OperationRow, now: number): Promise<void> {
    const error = tooOld(row).toJSON()
    const result = await deps.failureVerifier.resultOf(row)
    const end = result ? doneAfterAll(result) : { ...EXPIRED, error }
    const { writes, change } = ended(row, end, endTerms(now, row, settings))
    const line = result
      ? auditOfRow(row, { at: now, outcome: 'succeeded', code: undefined })
      : auditOfRow(row, { at: now, outcome: 'notRun', code: error.code })
    const outcome = await store.commit([...writes, insert('audit', auditRow(deps.ids.next('audit'), line))])
    if (!outcome.committed) return
    emitter.emit('operation.changed', change)
    emitter.emit('call.settled', line)
  }

  /** An expired lease belongs to a process that is gone, or as good as gone: what it reports is no longer valid. Returns how many there were. */
  async function takeFromTheDead(store: Store): Promise<number> {
    const where = { state: 'leased' as const, leaseUntil: { atMost: Math.round(clock.now()) } }
    const found = await store.find('operations', { where, limit: BATCH })
    // This process may have slept; it knows what it runs.
    const lost = found.filter(({ id }) => !deps.isRunning(id))
    await runAll(lost, async row => {
      const { writes, change } = stepAfterLostRun(row, deps)
      const { committed } = await store.commit(writes)
      if (committed) emitter.emit('operation.changed', change)
    })
    return lost.length
  }

  /** What waited for something that is there now is due. All are looked at: many that wait for one thing hide no other. */
  async function reviveReady(store: Store, isStopped: () => boolean): Promise<void> {
    const dueAt = Math.round(clock.now())
    // By the index of expiry: everything that waits has one.
    const where = { state: 'queued' as const, expiresAt: { not: null }, dueAt: null }
    const query = { where, order: { by: ['expiresAt', 'id'] as const }, limit: PAGE, columns: WAITING_COLUMNS }
    let after: [number, string] | undefined
    for (;;) {
      const waiting = await store.find('operations', after ? { ...query, after } : query)
      const ready = waiting.filter(deps.isReady)
      const writes = ready.map(({ id, fence }) =>
        update('operations', { where: { id, state: 'queued', fence }, set: { dueAt }, rows: 'any' }),
      )
      if (writes.length > 0) await store.commit(writes)
      const last = waiting.at(-1)
      if (!last || waiting.length < PAGE || isStopped()) return
      after = [last.expiresAt ?? 0, last.id]
    }
  }

  /** Approvals that became void: no answer is needed any more, and their agents are notified of the end. */
  async function endVoid(store: Store): Promise<void> {
    const now = Math.round(clock.now())
    // By the index of expiry: everything that waits has one.
    const where = { state: 'waitingForApproval' as const, expiresAt: { not: null } }
    const query = { where, order: { by: ['expiresAt', 'id'] as const }, limit: PAGE, columns: VOID_COLUMNS }
    for (let after: [number, string] | undefined; ; ) {
      const waiting = await store.find('operations', after ? { ...query, after } : query)
      await runAll(waiting.filter(deps.isVoid), async ({ id }) => {
        const row = await store.get('operations', id)
        if (row?.state !== 'waitingForApproval') return
        const { writes, change } = closeRequest(row, { dueAt: now, expiresAt: expiryOf(row, settings) }, now)
        if ((await store.commit(writes)).committed) emitter.emit('operation.changed', change)
      })
      const last = waiting.at(-1)
      if (!last || waiting.length < PAGE) return
      after = [last.expiresAt ?? 0, last.id]
    }
  }

  /** What no process could do for a while waits for what it needs, and does not stand before what can be done. */
  async function putOffUndoable(store: Store): Promise<void> {
    const where = { state: 'queued' as const, dueAt: { atMost: Math.round(clock.now()) - LEFT_FOR_MS } }
    const due = await store.find('operations', { where, limit: PAGE })
    const writes = due.filter(deps.isUndoableHere).map(({ id, fence, dueAt }) => {
      const stands = { id, state: 'queued' as const, fence, dueAt }
      return update('operations', { where: stands, set: { dueAt: null }, rows: 'any' })
    })
    if (writes.length > 0) await store.commit(writes)
  }

  return {
    async go(store, isStopped) {
      const counts = [...(await expireOld(store)), await takeFromTheDead(store)]
      await endVoid(store)
      await putOffUndoable(store)
      await reviveReady(store, isStopped)
      return counts.some(count => count === BATCH)
    },
  }
}

const EXPIRED = { state: 'expired', outcome: undefined, result: undefined, isTold: false } as const

/** An earlier run had done it. */
function doneAfterAll(result: ToolResult): Ended {
  return { state: 'succeeded', outcome: 'succeeded', result, error: undefined, isTold: false }
}

const VOID_COLUMNS = [
  'id',
  'tool',
  'definitionHash',
  'mutates',
  'retry',
  'parentId',
  'effects',
  'organisation',
  'workspace',
  'callerKind',
  'callerName',
  'expiresAt',
] as const
type VoidColumn = (typeof VOID_COLUMNS)[number]

const WAITING_COLUMNS = ['id', 'fence', 'tool', 'callerName', 'expiresAt'] as const

function tooOld({ tool, state, error }: OperationRow): AppError {
  const details = { tool }
  if (state === 'waitingForApproval')
    return new AppError('CONSENT_REQUIRED', `No answer came in time whether "${tool}" may be run.`, { details })
  const last = error ? ` The last time: ${error.message}` : ''
  return new AppError('DEADLINE_EXCEEDED', `"${tool}" could not be done in time and expired.${last}`, { details })
}
