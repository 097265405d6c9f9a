import {
  AppError,
  messageOf,
  type OperationChange,
  type OperationRow,
  type Settings,
} from '../../../contracts/index.ts'
import { type Cancel, type Clock, type Emitter, type Log } from '../../kernel/index.ts'
import { type ChangedRows, type NewsListener, type Store, update } from '../../store/index.ts'
import { type Approvals } from '../consent/approvals.ts'
import { type OperationLog } from '../record/operation-log.ts'
import { callerOf, type StorageAccess } from '../record/operation-storage.ts'

export interface LeaseTransitionsDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly log: Log
  readonly emitter: Emitter
  /** The id of this process, as the owner of leases. */
  readonly owner: string
  readonly approvals: Pick<Approvals, 'held'>
  readonly operations: Pick<OperationLog, 'recorded'>
  readonly calls: { cancel(operationId: string, reason: AppError): unknown }
  /** An operation may be due, or a result to be delivered, without notification. */
  wake(): void
}

/** Rows that one query reads. */
const MOST_IDS = 200
/** Without notifications, operations that are waited for here are checked this often. */
const CHECK_EVERY_MS = 1_000
const COLUMNS = [
  'id',
  'tool',
  'organisation',
  'workspace',
  'callerKind',
  'callerName',
  'state',
  'updatedAt',
  'tellAt',
  'leaseOwner',
  'cancelRequestedAt',
] as const

/**
 * Emits the transitions that other processes have made as events of this process: waiting callers learn of an answer, the queue
 * of due operations, and the notifier of results. The announced rows are read again, because notifications may be late.
 */
export function createLeaseTransitions(deps: LeaseTransitionsDeps): NewsListener & { stop(): void } {
  const { storage, clock, log, emitter } = deps
  let isStopped = false
  let isLost = false
  let cancelTimer: Cancel = () => {}

  /** Reads these operations and requests, and emits their events. */
  async function check(ids: readonly string[], asked: readonly string[]): Promise<void> {
    const { store } = await storage.open()
    const answered = await emitAnswers(store, asked)
    for (const some of chunks(ids)) {
      const rows = await store.find('operations', { where: { id: { in: some } }, columns: COLUMNS, limit: MOST_IDS })
      for (const row of rows) if (!isStopped) emitChange(row, answered.has(row.id))
    }
  }

  /** Emitted before the transitions that they cause. Returns the requests that are not open any more. */
  async function emitAnswers(store: Store, asked: readonly string[]): Promise<ReadonlySet<string>> {
    const over = new Set<string>()
    for (const some of chunks(asked)) {
      const rows = await store.find('approvals', { where: { id: { in: some } }, limit: MOST_IDS })
      for (const { id, tool, organisation, callerName: agent, state, answeredBy, via } of rows) {
        if (state === 'open') emitter.emit('approval.opened', { id, tool, organisation, agent })
        else over.add(id)
        if ((state === 'allowed' || state === 'denied') && answeredBy !== null && via !== null)
          emitter.emit('approval.answered', { id, tool, organisation, agent, state, by: { name: answeredBy, via } })
      }
    }
    return over
  }

  function emitChange(row: WatchedRow, wasAsked: boolean): void {
    const { id, tool, state: to, updatedAt: at, tellAt } = row
    if (to === 'leased') return cancelRequested(row)
    const from = wasAsked && to !== 'waitingForApproval' ? 'waitingForApproval' : undefined
    const isTold = tellAt === null || tellAt > at
    const change: OperationChange = { id, tool, caller: callerOf(row), from, to, at, isTold }
    emitter.emit('operation.changed', change)
  }

  /** Another process may ask to stop a run of this one. */
  function cancelRequested({ id, tool, leaseOwner, cancelRequestedAt }: WatchedRow): void {
    if (leaseOwner !== deps.owner || cancelRequestedAt === null) return
    deps.calls.cancel(id, new AppError('CANCELLED', `"${tool}" was cancelled while it ran.`))
  }

  /** Checks the operations that are waited for here, and those that run here. */
  function checkOwn(): Promise<void> {
    const held = deps.approvals.held()
    return check([...held, ...deps.operations.recorded()], held)
  }

  function attempt(work: Promise<void>): Promise<void> {
    return work.catch(error => {
      // The queue and the notifier check every minute, and find a missed change.
      log.warn('changes by other processes could not be read', { error: messageOf(error) })
    })
  }

  function schedule(): void {
    cancelTimer()
    if (isLost && !isStopped)
      cancelTimer = clock.after(CHECK_EVERY_MS, () => void attempt(checkOwn()).finally(schedule))
  }

  function checkAll(): void {
    void attempt(checkOwn())
    deps.wake()
  }

  return {
    changed(rows) {
      const [ids, asked] = [idsIn(rows, 'operations'), idsIn(rows, 'approvals')]
      if (ids === 'any' || asked === 'any') checkAll()
      else if (ids.length + asked.length > 0) void attempt(check(ids, asked))
    },
    lost() {
      isLost = true
      schedule()
    },
    back() {
      isLost = false
      cancelTimer()
      checkAll()
    },
    stop() {
      isStopped = true
      cancelTimer()
    },
  }
}

type WatchedRow = Pick<OperationRow, (typeof COLUMNS)[number]>

function idsIn(rows: readonly ChangedRows[], table: ChangedRows['table']): ChangedRows['ids'] {
  return rows.find(one => one.table === table)?.ids ?? []
}

function chunks(ids: readonly string[]): readonly (readonly string[])[] {
  const count = Math.ceil(ids.length / MOST_IDS)
  return Array.from({ length: count }, (_, i) => ids.slice(i * MOST_IDS, (i + 1) * MOST_IDS))
}

/** Renews the leases of this process, so that no other process takes its operations over. */
export interface LeaseKeeper {
  start(): void
  stop(): void
}

export function createLeaseKeeper(deps: {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly log: Log
  readonly owner: string
  readonly operations: Pick<OperationLog, 'recorded'>
  readonly settings: Pick<Settings, 'leaseSeconds'>
}): LeaseKeeper {
  const { storage, clock, log, owner, operations, settings } = deps
  const leaseMs = settings.leaseSeconds * 1000
  let cancelTimer: Cancel | undefined
  let isStopped = false

  function schedule(): void {
    if (isStopped) return
    // Two renewals may fail before other processes consider this one gone.
    cancelTimer = clock.after(leaseMs / 3, () => void renew().finally(schedule))
  }

  async function renew(): Promise<void> {
    const storing = storage.current()
    // Only what runs: a lease written for a run that never began, after a commit with an unknown outcome, has to expire.
    const ids = operations.recorded()
    if (!storing || ids.length === 0) return
    const set = { leaseUntil: Math.round(clock.now() + leaseMs) }
    try {
      for (const some of chunks(ids)) {
        const where = { id: { in: some }, state: 'leased' as const, leaseOwner: owner }
        await storing.store.commit([update('operations', { where, set, rows: 'any' })])
      }
    } catch (error) {
      log.warn('leases could not be renewed', { error: messageOf(error) })
    }
  }

  return {
    start() {
      if (!cancelTimer) schedule()
    },
    stop() {
      isStopped = true
      cancelTimer?.()
    },
  }
}
