import { type Caller, messageOf, type OperationRow, type OperationSummary } from '../../../contracts/index.ts'
import { type Cancel, type Clock, type Emitter, type Log } from '../../kernel/index.ts'
import { type Store } from '../../store/index.ts'
import { deliveredWrite, type UndeliveredResult } from '../record/delivery-tracker.ts'
import { SUMMARY_COLUMNS, summaryOf } from '../record/operation-row.ts'
import { callerOf, type StorageAccess } from '../record/operation-storage.ts'
import { isEnd } from '../record/transitions.ts'

/**
 * Notifies a caller that its operation has ended, where it did not wait for the answer. Returns `false` where no client was
 * there: then the next client to come is notified.
 */
export type NotifyResult = (operation: OperationSummary, caller: Caller) => Promise<boolean | void> | boolean | void

/** Notifies callers of every result once, also of results from before a client was connected. */
export interface ResultNotifier {
  /** Tells what earlier processes left untold, and from then on everything. */
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
  /** Whether a caller here waits for the answer, or has just got it. */
  readonly isAwaited?: ((end: UndeliveredResult) => boolean) | undefined
}

const BATCH = 100
/** A notification that takes longer is sent again later. */
const TELLING_MS = 10_000
const COLUMNS = [...SUMMARY_COLUMNS, 'organisation', 'workspace', 'callerKind', 'tellAt'] as const
/** Results that could not be delivered are looked for again then. */
const PAUSE_MS = 60_000
/** A waiting caller has the answer by then, or never gets it. */
const AWAITED_PAUSE_MS = 1_000

export function createResultNotifier(deps: ResultNotifierDeps): ResultNotifier {
  const { storage, clock, log, emitter, notify, connectedCallers, isAwaited } = deps
  let isStarted = false
  let isStopped = false
  let isWanted = false
  let isSomeAwaited = false
  /** When the next that may have been heard otherwise is to be told. */
  let nextAt: number | undefined
  let telling: Promise<void> | undefined
  let cancelTimer: Cancel = () => {}

  function look(): void {
    if (!isStarted || isStopped) return
    isWanted = true
    telling ??= tellWhileWanted().finally(() => {
      telling = undefined
      if (isWanted) look()
      else rest()
    })
  }

  /** Another process may have ended something and died, or never have heard that it did. */
  function rest(): void {
    cancelTimer()
    if (isStopped) return
    const untilNext = nextAt === undefined ? PAUSE_MS : Math.max(0, nextAt - clock.now())
    cancelTimer = clock.after(Math.min(isSomeAwaited ? AWAITED_PAUSE_MS : PAUSE_MS, untilNext), look)
  }

  const isCalledFor = () => isWanted && !isStopped

  async function tellWhileWanted(): Promise<void> {
    while (isCalledFor()) {
      isWanted = false
      isSomeAwaited = false
      nextAt = undefined
      try {
        const { store } = await storage.open()
        await tellAll(store)
      } catch (error) {
        putOff(error)
      }
    }
  }

  async function tellAll(store: Store): Promise<void> {
    const order = { by: ['tellAt', 'id'] as const }
    const callers = connectedCallers?.()
    // Results that no client would get are not even queried: they may be many, and may stay for long.
    if (callers?.length === 0) return
    const now = Math.round(clock.now())
    const theirs = callers ? ofAny(callers) : {}
    const where = { tellAt: { atMost: now }, ...theirs }
    let after: [number, string] | undefined
    for (;;) {
      const query = { where, order, limit: BATCH, columns: COLUMNS }
      const rows = await store.find('operations', after ? { ...query, after } : query)
      // In their order, and marked together: what is told does not wait for the mark of the one before.
      await Promise.all(rows.map(row => tellOne(store, row)))
      const last = rows.at(-1)
      if (!last || rows.length < BATCH || isStopped) break
      after = [last.tellAt ?? 0, last.id]
    }
    const later = { where: { tellAt: { above: now }, ...theirs }, order, limit: 1, columns: ['tellAt'] as const }
    nextAt = (await store.find('operations', later))[0]?.tellAt ?? undefined
  }

  /** Marked after the notification: twice is better than never. A failed notification does not block others. */
  async function tellOne(store: Store, row: Pick<OperationRow, (typeof COLUMNS)[number]>): Promise<void> {
    // A caller that waits here gets the result with the answer, and marks it. If it stops waiting before, it is notified next time.
    if (isAwaited?.(row)) return void (isSomeAwaited = true)
    try {
      if ((await inTime(row)) === false) return
    } catch (error) {
      return putOff(error)
    }
    await store.commit([deliveredWrite(row, clock.now())])
  }

  /** A client that never confirms blocks neither other notifications nor `stop`. */
  async function inTime(row: Pick<OperationRow, (typeof COLUMNS)[number]>): Promise<boolean | void> {
    let cancel: Cancel = () => {}
    const enough = new Promise<never>((_, reject) => {
      const late = () => reject(new Error(`The result of "${row.id}" was not delivered in time.`))
      cancel = clock.after(TELLING_MS, late)
    })
    try {
      return await Promise.race([notify(summaryOf(row), callerOf(row)), enough])
    } finally {
      cancel()
    }
  }

  function putOff(error: unknown): void {
    log.warn('the end of an operation could not be told and is tried again', { error: messageOf(error) })
  }

  emitter.on('operation.changed', ({ to, isTold }) => {
    if (isEnd(to) && !isTold) look()
  })
  return {
    start() {
      isStarted = true
      look()
    },
    wake: look,
    async stop() {
      isStopped = true
      cancelTimer()
      await telling
    },
  }
}

/** One query for all of them. It may find a caller of the same name in another organisation, which has no client, and so is not notified. */
function ofAny(callers: readonly Caller[]) {
  const organisations = new Set(callers.map(({ organisation }) => organisation))
  const names = new Set(callers.map(({ name }) => name))
  return { organisation: { in: [...organisations] }, callerName: { in: [...names] } }
}
