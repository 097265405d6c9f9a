import { type Caller, messageOf, type OperationRow, type OperationSummary } from '../../../contracts/index.ts'
import { type Cancel, type Clock, type Emitter, type Log } from '../../kernel/index.ts'
import { pagesOf, type Store } from '../../store/index.ts'
import { deliveredWrite, type UndeliveredResult } from '../record/delivery-tracker.ts'
import { SUMMARY_COLUMNS, summaryOf } from '../record/operation-row.ts'
import { callerOf, type StorageAccess } from '../record/operation-storage.ts'
import { isEnd } from '../record/transitions.ts'

/**
 * Notifies a caller that its operation has ended, where it did not wait for the answer. Returns `false` where no client was
 * connected: then the next client is notified.
 */
export type NotifyResult = (operation: OperationSummary, caller: Caller) => Promise<boolean | void> | boolean | void

/** Notifies callers of every result once, also of results from before a client was connected. */
export interface ResultNotifier {
  /** Sends the notifications that earlier processes left, and all later ones. */
  start(): void
  /** A client has connected that may want results. */
  wake(): void
  stop(): Promise<void>
}

interface ResultNotifierDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly log: Log
  readonly emitter: Emitter
  readonly notify: NotifyResult
  /** The callers that have a client to notify; all when absent. */
  readonly connectedCallers?: (() => readonly Caller[]) | undefined
  /** Whether a caller here waits for the result, or has just got it. */
  readonly isAwaited?: ((result: UndeliveredResult) => boolean) | undefined
}

const BATCH = 100
/** A notification that takes longer is sent again later. */
const NOTIFY_TIMEOUT_MS = 10_000
const COLUMNS = [...SUMMARY_COLUMNS, 'organisation', 'workspace', 'callerKind', 'tellAt'] as const
type ResultRow = Pick<OperationRow, (typeof COLUMNS)[number]>
const ORDER = { by: ['tellAt', 'id'] } as const
/** Another process may have ended something and crashed, so results are looked for without an event too. */
const PAUSE_MS = 60_000
/** A waiting caller has the result by then, or never gets it. */
const AWAITED_PAUSE_MS = 1_000

export function createResultNotifier(deps: ResultNotifierDeps): ResultNotifier {
  const { storage, clock, log, emitter, notify, connectedCallers, isAwaited } = deps
  let isStarted = false
  let isStopped = false
  let isRequested = false
  let hasAwaited = false
  /** When the next undelivered result is due: its caller may still get it as the answer. */
  let nextAt: number | undefined
  let notifying: Promise<void> | undefined
  let cancelTimer: Cancel = () => {}

  function wake(): void {
    if (!isStarted || isStopped) return
    isRequested = true
    notifying ??= notifyWhileRequested().finally(() => {
      notifying = undefined
      if (isRequested) wake()
      else schedule()
    })
  }

  function schedule(): void {
    cancelTimer()
    if (isStopped) return
    const untilNext = nextAt === undefined ? PAUSE_MS : Math.max(0, nextAt - clock.now())
    cancelTimer = clock.after(Math.min(hasAwaited ? AWAITED_PAUSE_MS : PAUSE_MS, untilNext), wake)
  }

  const mustNotify = () => isRequested && !isStopped

  async function notifyWhileRequested(): Promise<void> {
    while (mustNotify()) {
      isRequested = false
      hasAwaited = false
      nextAt = undefined
      try {
        const { store } = await storage.open()
        await notifyAll(store)
      } catch (error) {
        logFailure(error)
      }
    }
  }

  async function notifyAll(store: Store): Promise<void> {
    const callers = connectedCallers?.()
    // Results that no client would get are not even queried: they may be many, and may stay for long.
    if (callers?.length === 0) return
    const now = Math.round(clock.now())
    const ofCallers = callers ? callersFilter(callers) : {}
    const where = { tellAt: { atMost: now }, ...ofCallers }
    for await (const rows of pagesOf(store, 'operations', { where, order: ORDER, limit: BATCH, columns: COLUMNS })) {
      // Sent in their order, and marked together: no notification waits for the mark of the one before.
      await Promise.all(rows.map(row => notifyOne(store, row)))
      if (isStopped) break
    }
    const later = { where: { tellAt: { above: now }, ...ofCallers }, order: ORDER, limit: 1, columns: COLUMNS }
    nextAt = (await store.find('operations', later))[0]?.tellAt ?? undefined
  }

  /** Marked after the notification: twice is better than never. A failed notification does not block others. */
  async function notifyOne(store: Store, row: ResultRow): Promise<void> {
    // A caller that waits here gets the result as its answer. If it stops waiting before, it is notified next time.
    if (isAwaited?.(row)) return void (hasAwaited = true)
    try {
      if ((await notifyInTime(row)) === false) return
    } catch (error) {
      return logFailure(error)
    }
    await store.commit([deliveredWrite(row, clock.now())])
  }

  /** A client that never confirms blocks neither other notifications nor `stop`. */
  async function notifyInTime(row: ResultRow): Promise<boolean | void> {
    let cancel: Cancel = () => {}
    const late = new Promise<never>((_, reject) => {
      const error = () => reject(new Error(`The result of "${row.id}" was not delivered in time.`))
      cancel = clock.after(NOTIFY_TIMEOUT_MS, error)
    })
    try {
      return await Promise.race([notify(summaryOf(row), callerOf(row)), late])
    } finally {
      cancel()
    }
  }

  function logFailure(error: unknown): void {
    log.warn('a caller could not be notified of a result and is notified later', { error: messageOf(error) })
  }

  emitter.on('operation.changed', ({ to, isTold }) => {
    if (isEnd(to) && !isTold) wake()
  })
  return {
    start() {
      isStarted = true
      wake()
    },
    wake,
    async stop() {
      isStopped = true
      cancelTimer()
      await notifying
    },
  }
}

/** One query for all callers. It may find a caller of the same name in another organisation, which then has no client. */
function callersFilter(callers: readonly Caller[]) {
  const organisations = new Set(callers.map(({ organisation }) => organisation))
  const names = new Set(callers.map(({ name }) => name))
  return { organisation: { in: [...organisations] }, callerName: { in: [...names] } }
}
