import { type Caller, messageOf, type OperationRow, type OperationSummary } from '../../../contracts/index.ts'
import { type Cancel, type Clock, type Emitter, type Log } from '../../kernel/index.ts'
import { type Store } from '../../store/index.ts'
import { SUMMARY_COLUMNS, summaryOf } from '../record/operation-row.ts'
import { callerOf, type StorageAccess } from '../record/operation-storage.ts'
import { toldWrite, type Untold } from '../record/receipts.ts'
import { isEnd } from '../record/transitions.ts'

/**
 * Tells whoever asked for it that an operation has ended, where nobody waited for its answer. Answers `false` where nobody was
 * there to hear it: then it is told to whoever comes.
 */
export type TellEnd = (operation: OperationSummary, caller: Caller) => Promise<boolean | void> | boolean | void

/** Sees to it that every end is told, once, also those that happened while nobody was there to tell. */
export interface EndsTeller {
  /** Tells what earlier processes left untold, and from then on everything. */
  start(): void
  /** Somebody has come who may want to hear of ends. */
  look(): void
  stop(): Promise<void>
}

interface EndsTellerDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly log: Log
  readonly emitter: Emitter
  readonly tell: TellEnd
  /** The callers that have anybody to tell it to; all of them when absent. */
  readonly listening?: (() => readonly Caller[]) | undefined
  /** Whether somebody here waits for its answer, or has just got it. */
  readonly isAwaited?: ((end: Untold) => boolean) | undefined
}

const BATCH = 100
/** Whoever takes longer to hear of an end is told again later. */
const TELLING_MS = 10_000
const COLUMNS = [...SUMMARY_COLUMNS, 'organisation', 'workspace', 'callerKind', 'tellAt'] as const
/** What could not be told, or nobody heard of, is looked for again then. */
const PAUSE_MS = 60_000
/** Whoever waits for an answer has it by then, or never gets it. */
const AWAITED_PAUSE_MS = 1_000

export function createEndsTeller(deps: EndsTellerDeps): EndsTeller {
  const { storage, clock, log, emitter, tell, listening, isAwaited } = deps
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
    const callers = listening?.()
    // What nobody would hear is not even looked for: it may be much, and may stay for long.
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

  /** The mark is set after it was told: told twice is better than never. One that cannot be told holds up no other. */
  async function tellOne(store: Store, row: Pick<OperationRow, (typeof COLUMNS)[number]>): Promise<void> {
    // Whoever waits for it here hears it with the answer, and marks it. Who stops waiting before that is told next time.
    if (isAwaited?.(row)) return void (isSomeAwaited = true)
    try {
      if ((await inTime(row)) === false) return
    } catch (error) {
      return putOff(error)
    }
    await store.commit([toldWrite(row, clock.now())])
  }

  /** One who never says that it was heard holds up no other, and nobody who stops. */
  async function inTime(row: Pick<OperationRow, (typeof COLUMNS)[number]>): Promise<boolean | void> {
    let cancel: Cancel = () => {}
    const enough = new Promise<never>((_, reject) => {
      const late = () => reject(new Error(`Nobody has heard of the end of "${row.id}" in time.`))
      cancel = clock.after(TELLING_MS, late)
    })
    try {
      return await Promise.race([tell(summaryOf(row), callerOf(row)), enough])
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
    look,
    async stop() {
      isStopped = true
      cancelTimer()
      await telling
    },
  }
}

/** One question for all of them. It may find somebody of the same name elsewhere, who is not there, and so is told nothing. */
function ofAny(callers: readonly Caller[]) {
  const organisations = new Set(callers.map(({ organisation }) => organisation))
  const names = new Set(callers.map(({ name }) => name))
  return { organisation: { in: [...organisations] }, callerName: { in: [...names] } }
}
