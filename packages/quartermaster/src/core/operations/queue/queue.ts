import {
  type AppError,
  type ConsentAsk,
  ERRORS,
  isAppError,
  messageOf,
  type OperationRow,
  type Settings,
  toAppError,
} from '../../../contracts/index.ts'
import type { Cancel, Log } from '../../kernel/index.ts'
import type { Store, Write } from '../../store/index.ts'
import type { StorageAccess } from '../record/operation-storage.ts'
import { commitLease, leased } from '../record/transitions.ts'
import { runAll } from './crash-recovery.ts'
import { createMaintenance, type MaintenanceDeps } from './maintenance.ts'

/** Runs waiting operations when they are due, and ends those that expired. */
export interface Queue {
  start(): void
  /** Checks now: something may be due that was not before. */
  wake(): void
  /** Leases nothing more. Resolves when the current pass is over. */
  stop(): Promise<void>
}

/** What the run of an operation needs: writes that use up its consent, or approval for these asks. */
export type RunTerms = { readonly writes: readonly Write[] } | { readonly asks: readonly ConsentAsk[] }

export interface QueueDeps extends MaintenanceDeps {
  readonly storage: StorageAccess
  readonly log: Log
  /** The id of this process, as the owner of leases. */
  readonly owner: string
  readonly settings: Pick<Settings, 'leaseSeconds' | 'runsAtOnce'> & MaintenanceDeps['settings']
  /** Whether a caller in this process waits for the operation, to run it. */
  isHeld(id: string): boolean
  /** Whether no other process uses the store. */
  isAlone(): boolean
  /** Checked when the operation is leased. Throws when it may not run. */
  runTerms(operation: OperationRow): Promise<RunTerms>
  /** Asks a person again; the operation waits for the answer. */
  askAgain(operation: OperationRow, asks: readonly ConsentAsk[]): Promise<void>
  /** Ends a leased operation that may not run. Never rejects. */
  refuse(operation: OperationRow, reason: AppError): Promise<void>
  /** Runs a leased operation. Never rejects. */
  run(operation: OperationRow): Promise<void>
}

/** Operations leased in one pass; the next pass follows at once when there were as many. */
const BATCH = 64
/** A changed clock and an unannounced change are noticed within a minute. */
const LONGEST_PAUSE_MS = 60_000
const PAUSE_AFTER_FAILURE_MS = 10_000
/** A caller here may release an operation to the queue at any time, without notice. */
const PAUSE_WITH_HELD_MS = 1_000
/** Maintenance reads everything that waits, so repeated calls for it run it once a second. */
const MAINTENANCE_PAUSE_MS = 1_000

export function createQueue(deps: QueueDeps): Queue {
  const { storage, clock, log, emitter, settings } = deps
  const maintain = createMaintenance(deps)
  let isStarted = false
  let isStopped = false
  let isRequested = false
  let maintenanceAt = 0
  let runs = 0
  let cancelTimer: Cancel = () => {}
  let polling: Promise<void> | undefined

  function poll(): void {
    if (!isStarted || isStopped) return
    isRequested = true
    polling ??= pollWhileRequested().finally(() => {
      polling = undefined
      // A wake at the very end must not wait for the next time.
      if (isRequested) poll()
    })
  }

  /** Polls now, with maintenance once `at` has come. */
  function pollWithMaintenance(at: number): void {
    maintenanceAt = Math.min(maintenanceAt, at)
    poll()
  }

  const mustPoll = () => isRequested && !isStopped

  /** One pass at a time; a wake during a pass starts another. */
  async function pollWhileRequested(): Promise<void> {
    while (mustPoll()) {
      isRequested = false
      cancelTimer()
      try {
        const { store } = await storage.open()
        if (clock.now() >= maintenanceAt) {
          // Set first: a request for more maintenance meanwhile moves it forward.
          maintenanceAt = clock.now() + LONGEST_PAUSE_MS
          if (await maintain(store, () => isStopped)) maintenanceAt = clock.now()
        }
        schedule(await leaseDue(store))
      } catch (error) {
        log.warn('looking for operations that are due failed and is tried again', { error: messageOf(error) })
        schedule(PAUSE_AFTER_FAILURE_MS)
      }
    }
  }

  function schedule(ms: number): void {
    cancelTimer = clock.after(Math.max(Math.min(ms, LONGEST_PAUSE_MS, maintenanceAt - clock.now()), 0), poll)
  }

  /** Leases what is due; returns how long to wait for the next. */
  async function leaseDue(store: Store): Promise<number> {
    const now = Math.round(clock.now())
    const free = Math.min(settings.runsAtOnce - runs, BATCH)
    // A run that ends polls again.
    if (free <= 0) return LONGEST_PAUSE_MS
    const { due, skipped } = await findDue(store, now, free)
    // An operation leased now could not run any more, and belongs to another process.
    if (isStopped) return LONGEST_PAUSE_MS
    const expired = due.filter(row => isExpired(row, now))
    if (expired.length > 0) maintenanceAt = now
    const runnable = due.filter(row => !isExpired(row, now))
    // At the same time, so that they share a sync.
    await runAll(runnable, row => leaseAndRun(store, row))
    if (runnable.length > 0 && due.length === free) return 0
    const where = { state: 'queued' as const, dueAt: { above: now } }
    const [next] = await store.find('operations', { where, order: BY_TIME, columns: ['dueAt'], limit: 1 })
    return Math.min(next?.dueAt ? next.dueAt - now : LONGEST_PAUSE_MS, skipped > 0 ? PAUSE_WITH_HELD_MS : Infinity)
  }

  /** Finds as many as can run, however many before them are not this queue's to run. */
  async function findDue(store: Store, now: number, free: number) {
    const where = { state: 'queued' as const, dueAt: { atMost: now } }
    // Processes that all take the first ones would collide, so each picks some of more at random.
    const isShared = !deps.isAlone()
    for (let limit = isShared ? Math.min(free * SPREAD, LARGEST_PAGE) : free; ; ) {
      const found = await store.find('operations', { where, order: BY_TIME, limit })
      // A held operation is its caller's. One that still runs here, because its lease was lost, must not run twice.
      const ours = found.filter(row => !deps.isHeld(row.id) && !deps.isRunning(row.id) && !deps.cannotRunHere(row))
      const due = (isShared ? shuffled(ours, deps.random) : ours).slice(0, free)
      const skipped = found.length - ours.length
      if (due.length === free || found.length < limit || limit === LARGEST_PAGE) return { due, skipped }
      limit = Math.min(free + skipped, LARGEST_PAGE)
    }
  }

  async function leaseAndRun(store: Store, row: OperationRow): Promise<void> {
    const now = Math.round(clock.now())
    const lease = leased(row, { owner: deps.owner, until: now + settings.leaseSeconds * 1000 }, now)
    const terms = await deps.runTerms(row).catch(refusalOf)
    if ('asks' in terms) return await deps.askAgain(row, terms.asks)
    const more = isAppError(terms) ? [] : terms.writes
    // Another process has the operation, or a grant is gone: the next pass finds out.
    if (!(await commitLease(store, lease, { id: row.id, more }))) return void (isRequested = true)
    const taken = { ...row, ...lease.after }
    if (!isAppError(terms)) emitter.emit('operation.changed', lease.change)
    runs++
    const work = isAppError(terms) ? deps.refuse(taken, terms) : deps.run(taken)
    const over = () => {
      runs--
      poll()
    }
    work.then(over, error => {
      log.error('the run of an operation broke off and it is checked again', { id: row.id, error: messageOf(error) })
      over()
    })
  }

  return {
    start() {
      const at = clock.now() + (isStarted ? MAINTENANCE_PAUSE_MS : 0)
      isStarted = true
      pollWithMaintenance(at)
    },
    wake: () => pollWithMaintenance(clock.now()),
    async stop() {
      isStopped = true
      cancelTimer()
      await polling
    },
  }
}

/** By time alone, as in the index: operations due at the same time need no further order. */
const BY_TIME = { by: ['dueAt'] as const }
/** The largest page of a store. */
const LARGEST_PAGE = 1_000
/** With other processes, this many times as many are read as are taken. */
const SPREAD = 4

function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  return items
    .map(item => ({ item, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

/** Why an operation may not run. A temporary failure to decide does not end it, and is thrown. */
function refusalOf(error: unknown): AppError {
  const failure = toAppError(error)
  if (ERRORS[failure.code].retry === 'later') throw failure
  return failure
}

function isExpired({ expiresAt }: OperationRow, now: number): boolean {
  return expiresAt !== null && expiresAt <= now
}
