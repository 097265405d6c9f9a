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
  /** Who this process is among those that run operations. */
  readonly owner: string
  readonly approvals: Pick<Approvals, 'held'>
  readonly operations: Pick<OperationLog, 'recorded'>
  readonly calls: { cancel(operationId: string, reason: AppError): unknown }
  /** Something may be due, or a result to be delivered, that was not announced. */
  wake(): void
}

/** What one look reads. */
const MOST_IDS = 200
/** Without news, operations that are waited for here are checked this often. */
const LOOK_EVERY_MS = 1_000
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
 * Replays here what other processes have done with operations, as if it had been done here: waiting callers learn of an answer,
 * the queue of due operations, and the notifier of results. Announced rows are read again: rows are the truth.
 */
export function createLeaseTransitions(deps: LeaseTransitionsDeps): NewsListener & { stop(): void } {
  const { storage, clock, log, emitter } = deps
  let isStopped = false
  let isLost = false
  let cancelTimer: Cancel = () => {}

  async function look(ids: readonly string[], asked: readonly string[]): Promise<void> {
    const { store } = await storage.open()
    const answered = await answers(store, asked)
    for (const some of chunks(ids)) {
      const rows = await store.find('operations', { where: { id: { in: some } }, columns: COLUMNS, limit: MOST_IDS })
      for (const row of rows) if (!isStopped) tell(row, answered.has(row.id))
    }
  }

  /** Told right before what they lead to. Answers which are not open any more. */
  async function answers(store: Store, asked: readonly string[]): Promise<ReadonlySet<string>> {
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

  function tell(row: Pick<OperationRow, (typeof COLUMNS)[number]>, wasAsked: boolean): void {
    const { id, tool, state: to, updatedAt: at, tellAt } = row
    if (to === 'leased') return cancelWanted(row)
    const from = wasAsked && to !== 'waitingForApproval' ? 'waitingForApproval' : undefined
    const isTold = tellAt === null || tellAt > at
    const change: OperationChange = { id, tool, caller: callerOf(row), from, to, at, isTold }
    emitter.emit('operation.changed', change)
  }

  /** Another process asks to stop what runs here. */
  function cancelWanted({
    id,
    tool,
    leaseOwner,
    cancelRequestedAt,
  }: Pick<OperationRow, (typeof COLUMNS)[number]>): void {
    if (leaseOwner !== deps.owner || cancelRequestedAt === null) return
    deps.calls.cancel(id, new AppError('CANCELLED', `"${tool}" was cancelled while it ran.`))
  }

  /** Reads the operations that are waited for here, and those that run here. */
  function lookAtOwn(): Promise<void> {
    const held = deps.approvals.held()
    return look([...held, ...deps.operations.recorded()], held)
  }

  function attempt(work: Promise<void>): Promise<void> {
    return work.catch(error => {
      // A missed change is found by the next check: the queue and the notifier check every minute.
      log.warn('what other processes have done could not be read', { error: messageOf(error) })
    })
  }

  function rest(): void {
    cancelTimer()
    // A look that was under way as news came back is the last.
    if (isLost && !isStopped) cancelTimer = clock.after(LOOK_EVERY_MS, () => void attempt(lookAtOwn()).finally(rest))
  }

  function lookAround(): void {
    void attempt(lookAtOwn())
    deps.wake()
  }

  return {
    changed(rows) {
      const [ids, asked] = [idsIn(rows, 'operations'), idsIn(rows, 'approvals')]
      if (ids === 'any' || asked === 'any') lookAround()
      else if (ids.length + asked.length > 0) void attempt(look(ids, asked))
    },
    lost() {
      isLost = true
      rest()
    },
    back() {
      isLost = false
      cancelTimer()
      lookAround()
    },
    stop() {
      isStopped = true
      cancelTimer()
    },
  }
}

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

interface LeaseKeeperDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly log: Log
  readonly owner: string
  readonly operations: Pick<OperationLog, 'recorded'>
  readonly settings: Pick<Settings, 'leaseSeconds'>
}

export function createLeaseKeeper({ storage, clock, log, owner, operations, settings }: LeaseKeeperDeps): LeaseKeeper {
  const leaseMs = settings.leaseSeconds * 1000
  let cancelTimer: Cancel | undefined
  let isStopped = false

  function rest(): void {
    if (isStopped) return
    // Two renewals may fail before other processes consider this one gone.
    cancelTimer = clock.after(leaseMs / 3, () => void renew().finally(rest))
  }

  async function renew(): Promise<void> {
    const storing = storage.current()
    // By what really runs: a lease that was written for a run that never began, because the outcome of the commit was unknown, has to expire.
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
      if (!cancelTimer) rest()
    },
    stop() {
      isStopped = true
      cancelTimer?.()
    },
  }
}
