import { AppError, type OperationRow, type Settings } from '../../../contracts/index.ts'
import { type Clock, type Emitter, type Ids, type Random } from '../../kernel/index.ts'
import { insert, pagesOf, type Store, update } from '../../store/index.ts'
import { closeRequest } from '../consent/requests.ts'
import { auditOfRow, auditRow } from '../record/audit.ts'
import { endTerms, expiryOf } from '../record/operation-storage.ts'
import { type RetryTerms } from '../record/running-calls.ts'
import { ended } from '../record/transitions.ts'
import { type FailureVerifier } from '../record/verify-after-failure.ts'
import { runAll, stepAfterLostRun } from './crash-recovery.ts'

export interface MaintenanceDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly random: Random
  readonly emitter: Emitter
  readonly settings: Pick<Settings, 'operationDays'> & RetryTerms['settings']
  readonly failureVerifier: Pick<FailureVerifier, 'resultOf'>
  /** Whether the dependencies of an operation's tool are there. */
  isReady(operation: Pick<OperationRow, 'tool' | 'callerName'>): boolean
  /** Whether an approval cannot help: the definition has changed, or the agent lost the tool. */
  isVoid(operation: Pick<OperationRow, VoidColumn>): boolean
  /** Whether the operation runs here. */
  isRunning(id: string): boolean
  /** Whether this process cannot run the operation now, and another process, or this one a moment later, can. */
  cannotRunHere(operation: OperationRow): boolean
}

/** Operations of each kind that one run ends. */
const BATCH = 64
/** Waiting operations are read in pages of this size. */
const PAGE = 500
/** An operation that was due for this long can be run by no process. */
const UNRUNNABLE_MS = 60_000
/** Every waiting operation has an expiry, so queries order by it and use its index. */
const BY_EXPIRY = { by: ['expiresAt', 'id'] } as const

/**
 * Queue maintenance: expires old operations, reclaims abandoned leases, wakes operations whose dependency is back. Returns whether
 * there is more to do than one run does.
 */
export function createMaintenance(deps: MaintenanceDeps): (store: Store, isStopped: () => boolean) => Promise<boolean> {
  const { clock, emitter, settings } = deps

  /** Returns how many there were in each state. */
  async function expireOld(store: Store): Promise<number[]> {
    const now = Math.round(clock.now())
    const counts: number[] = []
    for (const state of ['queued', 'waitingForApproval'] as const) {
      const old = await store.find('operations', { where: { state, expiresAt: { atMost: now } }, limit: BATCH })
      await runAll(old, row => expireOperation(store, row, now))
      counts.push(old.length)
    }
    return counts
  }

  async function expireOperation(store: Store, row: OperationRow, now: number): Promise<void> {
    const error = expiryError(row).toJSON()
    // An earlier run may have done the work.
    const result = await deps.failureVerifier.resultOf(row)
    const end = result
      ? ({ state: 'succeeded', outcome: 'succeeded', result, error: undefined, isTold: false } as const)
      : ({ state: 'expired', outcome: undefined, result, error, isTold: false } as const)
    const { writes, change } = ended(row, end, endTerms(now, row, settings))
    const line = result
      ? auditOfRow(row, { at: now, outcome: 'succeeded', code: undefined })
      : auditOfRow(row, { at: now, outcome: 'notRun', code: error.code })
    const outcome = await store.commit([...writes, insert('audit', auditRow(deps.ids.next('audit'), line))])
    if (!outcome.committed) return
    emitter.emit('operation.changed', change)
    emitter.emit('call.settled', line)
  }

  /** An expired lease belongs to a process that crashed, or can no longer write. Returns how many there were. */
  async function reclaimLeases(store: Store): Promise<number> {
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

  /** Makes operations due whose dependency is back. All are read, so that many that wait for one thing hide no other. */
  async function wakeReady(store: Store, isStopped: () => boolean): Promise<void> {
    const dueAt = Math.round(clock.now())
    const where = { state: 'queued' as const, expiresAt: { not: null }, dueAt: null }
    const query = { where, order: BY_EXPIRY, limit: PAGE, columns: WAITING_COLUMNS }
    for await (const waiting of pagesOf(store, 'operations', query)) {
      const writes = waiting
        .filter(deps.isReady)
        .map(({ id, fence }) =>
          update('operations', { where: { id, state: 'queued', fence }, set: { dueAt }, rows: 'any' }),
        )
      if (writes.length > 0) await store.commit(writes)
      if (isStopped()) return
    }
  }

  /** Closes requests that became void: no answer is needed any more, and the agents are notified of the end. */
  async function closeVoid(store: Store): Promise<void> {
    const now = Math.round(clock.now())
    const where = { state: 'waitingForApproval' as const, expiresAt: { not: null } }
    const query = { where, order: BY_EXPIRY, limit: PAGE, columns: VOID_COLUMNS }
    for await (const waiting of pagesOf(store, 'operations', query)) {
      await runAll(waiting.filter(deps.isVoid), async ({ id }) => {
        const row = await store.get('operations', id)
        if (row?.state !== 'waitingForApproval') return
        const { writes, change } = closeRequest(row, { dueAt: now, expiresAt: expiryOf(row, settings) }, now)
        if ((await store.commit(writes)).committed) emitter.emit('operation.changed', change)
      })
    }
  }

  /** An operation that no process could run for a while waits for its dependency, and no longer blocks those behind it. */
  async function postponeUnrunnable(store: Store): Promise<void> {
    const where = { state: 'queued' as const, dueAt: { atMost: Math.round(clock.now()) - UNRUNNABLE_MS } }
    const due = await store.find('operations', { where, limit: PAGE })
    const writes = due.filter(deps.cannotRunHere).map(({ id, fence, dueAt }) => {
      const unchanged = { id, state: 'queued' as const, fence, dueAt }
      return update('operations', { where: unchanged, set: { dueAt: null }, rows: 'any' })
    })
    if (writes.length > 0) await store.commit(writes)
  }

  return async (store, isStopped) => {
    const counts = [...(await expireOld(store)), await reclaimLeases(store)]
    await closeVoid(store)
    await postponeUnrunnable(store)
    await wakeReady(store, isStopped)
    return counts.some(count => count === BATCH)
  }
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

function expiryError({ tool, state, error }: OperationRow): AppError {
  const details = { tool }
  if (state === 'waitingForApproval')
    return new AppError('CONSENT_REQUIRED', `No answer came in time whether "${tool}" may be run.`, { details })
  const last = error ? ` The last time: ${error.message}` : ''
  return new AppError('DEADLINE_EXCEEDED', `"${tool}" could not be done in time and expired.${last}`, { details })
}
