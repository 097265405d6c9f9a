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

/** Runs operations that waited when they are due, and ends those that expired. */
export interface Queue {
  /** Begins, and looks at once. */
  start(): void
  /** Something may be due that was not before. */
  wake(): void
  /** Takes nothing more. Resolves when what it was taking is taken. */
  stop(): Promise<void>
}

/** On what an operation may be run. */
export type RunTerms = { readonly writes: readonly Write[] } | { readonly asks: readonly ConsentAsk[] }

export interface QueueDeps extends MaintenanceDeps {
  readonly storage: StorageAccess
  readonly log: Log
  /** Who this process is among those that run operations. */
  readonly owner: string
  readonly settings: Pick<Settings, 'leaseSeconds' | 'runsAtOnce'> & MaintenanceDeps['settings']
  /** Whether a caller here waits to run it. */
  isHeld(id: string): boolean
  /** Whether no other process takes from the same store. */
  isAlone(): boolean
  /**
   * What has to be true when it is leased: the consent that it runs on, or what a person has to be asked for again first.
   * Throws when it may not be run.
   */
  terms(operation: OperationRow): Promise<RunTerms>
  /** Has a person asked, and leaves it waiting for that. */
  askAgain(operation: OperationRow, asks: readonly ConsentAsk[]): Promise<void>
  /** Ends an operation that may not be run and is leased for this process. Never rejects. */
  refuse(operation: OperationRow, reason: AppError): Promise<void>
  /** Runs an operation that is leased for this process. Never rejects. */
  run(operation: OperationRow): Promise<void>
}

/** One look takes as many as this; the next follows at once when there were so many. */
const BATCH = 64
/** However far off the next operation is: a changed clock and an unannounced change are noticed within a minute. */
const LONGEST_REST_MS = 60_000
/** What kept it from looking may have passed by then. */
const FAILED_REST_MS = 10_000
/** An operation that a caller here holds and releases belongs to the queue again, without notice. */
const PASSED_OVER_REST_MS = 1_000
/** Looking through all that waits takes longer the more that is. What calls for it over and over gets it once a second. */
const ROUND_PAUSE_MS = 1_000

export function createQueue(deps: QueueDeps): Queue {
  const { storage, clock, log, emitter, settings } = deps
  const maintenance = createMaintenance(deps)
  let isStarted = false
  let isStopped = false
  let isWanted = false
  /** When to look at more than what is due: at all that waits, and at what others left. */
  let roundAt = 0
  let runs = 0
  let cancelTimer: Cancel = () => {}
  let looking: Promise<void> | undefined

  function look(): void {
    if (!isStarted || isStopped) return
    isWanted = true
    looking ??= lookWhileWanted().finally(() => {
      looking = undefined
      // A wake at the very end must not wait for the next time.
      if (isWanted) look()
    })
  }

  /** With a round through everything, then at the latest. */
  function lookAround(by: number): void {
    roundAt = Math.min(roundAt, by)
    look()
  }

  const isCalledFor = () => isWanted && !isStopped

  /** One pass at a time; a wake during a pass starts another. */
  async function lookWhileWanted(): Promise<void> {
    while (isCalledFor()) {
      isWanted = false
      cancelTimer()
      try {
        const { store } = await storage.open()
        if (clock.now() >= roundAt) await goRound(store)
        rest(await takeDue(store))
      } catch (error) {
        log.warn('looking for operations that are due failed and is tried again', { error: messageOf(error) })
        rest(FAILED_REST_MS)
      }
    }
  }

  function rest(ms: number): void {
    cancelTimer = clock.after(Math.max(Math.min(ms, LONGEST_REST_MS, roundAt - clock.now()), 0), look)
  }

  /** Everything but what is due, of which there may be much, and little to do about most of it. */
  async function goRound(store: Store): Promise<void> {
    // Set first: a request for another round meanwhile gets it.
    roundAt = clock.now() + LONGEST_REST_MS
    if (await maintenance.go(store, () => isStopped)) roundAt = clock.now()
  }

  /** Takes what is due; answers how long nothing else is. */
  async function takeDue(store: Store): Promise<number> {
    const now = Math.round(clock.now())
    const free = Math.min(settings.runsAtOnce - runs, BATCH)
    // A run that ends makes room, and looks again.
    if (free <= 0) return LONGEST_REST_MS
    const { due, passedOver } = await findDue(store, now, free)
    // A lease taken now could not be run any more, and is another process's to run.
    if (isStopped) return LONGEST_REST_MS
    const old = due.filter(row => isOld(row, now))
    if (old.length > 0) roundAt = now
    const open = due.filter(row => !isOld(row, now))
    // At the same time, so that they share a sync.
    await runAll(open, row => take(store, row))
    if (open.length > 0 && due.length === free) return 0
    const where = { state: 'queued' as const, dueAt: { above: now } }
    const [next] = await store.find('operations', { where, order: BY_TIME, columns: ['dueAt'], limit: 1 })
    return Math.min(next?.dueAt ? next.dueAt - now : LONGEST_REST_MS, passedOver > 0 ? PASSED_OVER_REST_MS : Infinity)
  }

  /** As many as are free to run, however many stand before them that are not this queue's to take. */
  async function findDue(store: Store, now: number, free: number) {
    const where = { state: 'queued' as const, dueAt: { atMost: now } }
    // Who all reach for the same ones get in each other's way; each takes some of more.
    const isCrowded = !deps.isAlone()
    for (let limit = isCrowded ? Math.min(free * SPREAD, MOST) : free; ; ) {
      const found = await store.find('operations', { where, order: BY_TIME, limit })
      // Operations that a caller here waits for are that caller's. What still runs here, because its lease was lost, must not run twice.
      const ours = found.filter(isOurs)
      const due = (isCrowded ? mixed(ours, deps.random) : ours).slice(0, free)
      const passedOver = found.length - ours.length
      if (due.length === free || found.length < limit || limit === MOST) return { due, passedOver }
      limit = Math.min(free + passedOver, MOST)
    }
  }

  const isOurs = (row: OperationRow) => !deps.isHeld(row.id) && !deps.isRunning(row.id) && !deps.isUndoableHere(row)

  /** Of all who see it, one gets it. */
  async function take(store: Store, row: OperationRow): Promise<void> {
    const now = Math.round(clock.now())
    const lease = leased(row, { owner: deps.owner, until: now + settings.leaseSeconds * 1000 }, now)
    const terms = await deps.terms(row).catch(refusalOf)
    if ('asks' in terms) return await deps.askAgain(row, terms.asks)
    const more = isAppError(terms) ? [] : terms.writes
    // Another process has it, or a grant has just gone: the next pass finds out.
    if (!(await commitLease(store, lease, { id: row.id, more }))) return void (isWanted = true)
    const taken = { ...row, ...lease.after }
    if (!isAppError(terms)) emitter.emit('operation.changed', lease.change)
    runs++
    const work = isAppError(terms) ? deps.refuse(taken, terms) : deps.run(taken)
    const over = () => {
      runs--
      look()
    }
    work.then(over, error => {
      log.error('the run of an operation broke off and it is checked again', { id: row.id, error: messageOf(error) })
      over()
    })
  }

  return {
    start() {
      const by = clock.now() + (isStarted ? ROUND_PAUSE_MS : 0)
      isStarted = true
      lookAround(by)
    },
    wake: () => lookAround(clock.now()),
    async stop() {
      isStopped = true
      cancelTimer()
      await looking
    },
  }
}

/** By time alone, as in the index: operations that became due together need no further order. */
const BY_TIME = { by: ['dueAt'] as const }
/** What a store gives at once. */
const MOST = 1_000
/** Where others take as well, this many times as many are looked at as are taken. */
const SPREAD = 4

function mixed<T>(items: readonly T[], random: () => number): readonly T[] {
  return items
    .map(item => ({ item, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

/** Why it may not be run. A temporary failure to decide is no reason to end it, and is thrown on. */
function refusalOf(error: unknown): AppError {
  const failure = toAppError(error)
  if (ERRORS[failure.code].retry === 'later') throw failure
  return failure
}

/** Whether it expired instead of being run. */
function isOld({ expiresAt }: OperationRow, now: number): boolean {
  return expiresAt !== null && expiresAt <= now
}
