import {
  AppError,
  isAppError,
  messageOf,
  type OperationRow,
  type Settings,
  toAppError,
} from '../../../contracts/index.ts'
import type { Cancel, Clock, Emitter, Ids, Log, Random } from '../../kernel/index.ts'
import { insert, type Store, update, type Write } from '../../store/index.ts'
import { auditRow } from '../record/audit-row.ts'
import type { StorageAccess } from '../record/storage.ts'
import { ended, leased } from '../record/transitions.ts'
import { auditOfRow } from '../record/waited-audit.ts'
import { lostStep } from './left-behind.ts'
import type { RetryTerms } from './retry-policy.ts'

/** Runs operations that waited, when their time has come, and gives up those that have waited too long. */
export interface Queue {
  /** Begins, and looks at once. */
  start(): void
  /** Something may be due that was not before. */
  wake(): void
  /** Takes nothing more. Resolves when what it was taking is taken. */
  stop(): Promise<void>
}

export interface QueueDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly emitter: Emitter
  /** Who this process is among those that run operations. */
  readonly owner: string
  readonly random: Random
  readonly settings: Pick<Settings, 'leaseSeconds' | 'runsAtOnce' | 'operationDays'> & RetryTerms['settings']
  /** Whether what an operation waits for is there: all that its tool needs. */
  isReady(operation: Pick<OperationRow, 'tool' | 'callerName'>): boolean
  /** Whether it runs here. */
  isRunning(id: string): boolean
  /** Whether somebody here waits to run it. */
  isHeld(id: string): boolean
  /** What has to be true when it is leased: the consent that it runs on. Throws when it may not be run. */
  terms(operation: OperationRow): Promise<readonly Write[]>
  /** Ends one that may not be run. */
  refuse(operation: OperationRow, reason: AppError): Promise<void>
  /** Runs one that is leased for this process. Never rejects. */
  run(operation: OperationRow): Promise<void>
}

/** One look takes as many as this; the next follows at once when there were so many. */
const BATCH = 64
/** However far off the next one is: a clock that was set and a change that nobody told of are noticed within a minute. */
const LONGEST_REST_MS = 60_000
const DAY_MS = 24 * 3_600_000

export function createQueue(deps: QueueDeps): Queue {
  const { storage, clock, log, emitter, settings } = deps
  let isStarted = false
  let isStopped = false
  let isWanted = false
  let runs = 0
  let cancelTimer: Cancel = () => {}
  let looking: Promise<void> | undefined

  function look(): void {
    if (!isStarted || isStopped) return
    isWanted = true
    looking ??= lookWhileWanted().finally(() => {
      looking = undefined
      // Whoever woke it at the very end is not to wait for the next time.
      if (isWanted) look()
    })
  }

  const isCalledFor = () => isWanted && !isStopped

  /** One look at a time; whoever wakes it during one gets another. */
  async function lookWhileWanted(): Promise<void> {
    while (isCalledFor()) {
      isWanted = false
      cancelTimer()
      try {
        const { store } = await storage.open()
        await giveUpOld(store)
        await takeFromTheDead(store)
        await reviveReady(store)
        rest(await takeDue(store))
      } catch (error) {
        log.warn('looking for operations that are due failed and is tried again', { error: messageOf(error) })
        rest(LONGEST_REST_MS)
      }
    }
  }

  function rest(ms: number): void {
    cancelTimer = clock.after(Math.min(Math.max(ms, 0), LONGEST_REST_MS), look)
  }

  /** Nothing waits for ever, and nothing goes without a word. */
  async function giveUpOld(store: Store): Promise<void> {
    const now = Math.round(clock.now())
    for (const state of ['queued', 'waitingForApproval'] as const) {
      const where = { state, expiresAt: { atMost: now } }
      for (const row of await store.find('operations', { where, limit: BATCH })) await giveUp(store, row, now)
    }
  }

  async function giveUp(store: Store, row: OperationRow, now: number): Promise<void> {
    const error = tooOld(row).toJSON()
    const keepMs = row.ttlMs ?? settings.operationDays * DAY_MS
    const end = {
      state: 'expired',
      outcome: row.outcome ?? undefined,
      result: undefined,
      error,
      isTold: false,
    } as const
    const { writes, change } = ended(row, end, { now, keepMs })
    const line = auditOfRow(row, { at: now, outcome: 'notRun', code: error.code })
    const outcome = await store.commit([...writes, insert('audit', auditRow(deps.ids.next('audit'), line))])
    if (!outcome.committed) return
    emitter.emit('operation.changed', change)
    emitter.emit('call.settled', line)
  }

  /** A lease that ran out is one of a process that is gone, or as good as gone: its word does not count any more. */
  async function takeFromTheDead(store: Store): Promise<void> {
    const where = { state: 'leased' as const, leaseUntil: { atMost: Math.round(clock.now()) } }
    for (const row of await store.find('operations', { where, limit: BATCH })) {
      // This process may have slept; it knows what it runs.
      if (deps.isRunning(row.id)) continue
      const { writes, change } = lostStep(row, deps)
      const { committed } = await store.commit(writes)
      if (committed) emitter.emit('operation.changed', change)
    }
  }

  /** What waited for something that is there now is due. */
  async function reviveReady(store: Store): Promise<void> {
    const dueAt = Math.round(clock.now())
    // By the index of expiry: everything that waits has one.
    const where = { state: 'queued' as const, expiresAt: { not: null }, dueAt: null }
    const waiting = await store.find('operations', {
      where,
      limit: 1_000,
      columns: ['id', 'fence', 'tool', 'callerName'],
    })
    const ready = waiting.filter(deps.isReady)
    const writes = ready.map(({ id, fence }) =>
      update('operations', { where: { id, state: 'queued', fence }, set: { dueAt }, rows: 'any' }),
    )
    if (writes.length > 0) await store.commit(writes)
  }

  /** Takes what is due; answers how long nothing else is. */
  async function takeDue(store: Store): Promise<number> {
    const now = Math.round(clock.now())
    const free = Math.min(settings.runsAtOnce - runs, BATCH)
    // Whoever ends makes room, and looks.
    if (free <= 0) return LONGEST_REST_MS
    const order = { by: ['dueAt', 'id'] as const }
    const due = await store.find('operations', {
      where: { state: 'queued', dueAt: { atMost: now } },
      order,
      limit: free,
    })
    const open = due.filter(({ id }) => !deps.isHeld(id))
    for (const row of open) {
      // What would be taken now could not be run any more, and is somebody else's to run.
      if (isStopped) break
      await take(store, row)
    }
    if (open.length > 0 && due.length === free) return 0
    const where = { state: 'queued' as const, dueAt: { above: now } }
    const [next] = await store.find('operations', { where, order, columns: ['dueAt'], limit: 1 })
    return next?.dueAt ? next.dueAt - now : LONGEST_REST_MS
  }

  /** Of all who see it, one gets it. */
  async function take(store: Store, row: OperationRow): Promise<void> {
    const now = Math.round(clock.now())
    const lease = { owner: deps.owner, until: now + settings.leaseSeconds * 1000 }
    const { writes, change, after } = leased(row, lease, now)
    const terms = await deps.terms(row).catch(toAppError)
    const { committed } = await store.commit(isAppError(terms) ? writes : [...writes, ...terms])
    // Somebody else has it, or a grant has just gone: the next look tells.
    if (!committed) return
    if (isAppError(terms)) return await deps.refuse({ ...row, ...after }, terms)
    emitter.emit('operation.changed', change)
    runs++
    void deps.run({ ...row, ...after }).finally(() => {
      runs--
      look()
    })
  }

  return {
    start() {
      isStarted = true
      look()
    },
    wake: look,
    async stop() {
      isStopped = true
      cancelTimer()
      await looking
    },
  }
}

function tooOld({ tool, state, error }: OperationRow): AppError {
  const details = { tool }
  if (state === 'waitingForApproval')
    return new AppError('CONSENT_REQUIRED', `Nobody answered in time whether "${tool}" may be run.`, { details })
  const last = error ? ` The last time: ${error.message}` : ''
  return new AppError('DEADLINE_EXCEEDED', `"${tool}" could not be done in time and was given up.${last}`, { details })
}
