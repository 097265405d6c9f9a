import { messageOf, type OperationSummary } from '../../../contracts/index.ts'
import type { Cancel, Clock, Emitter, Log } from '../../kernel/index.ts'
import { type Store, update } from '../../store/index.ts'
import { SUMMARY_COLUMNS, summaryOf } from '../record/operation-row.ts'
import type { StorageAccess } from '../record/storage.ts'
import { isEnd } from '../record/transitions.ts'

/** Tells whoever asked for it that an operation has ended, where nobody waited for its answer. Resolves when that is told. */
export type TellEnd = (operation: OperationSummary) => Promise<void> | void

/** Sees to it that every end is told, once, also those that happened while nobody was there to tell. */
export interface EndsTeller {
  /** Tells what earlier processes left untold, and from then on everything. */
  start(): void
  stop(): Promise<void>
}

export interface EndsTellerDeps {
  readonly storage: StorageAccess
  readonly clock: Clock
  readonly log: Log
  readonly emitter: Emitter
  readonly tell: TellEnd
}

const BATCH = 100
const COLUMNS = [...SUMMARY_COLUMNS, 'tellAt'] as const
/** What could not be told, or nobody heard of, is looked for again then. */
const PAUSE_MS = 60_000

export function createEndsTeller({ storage, clock, log, emitter, tell }: EndsTellerDeps): EndsTeller {
  let isStarted = false
  let isStopped = false
  let isWanted = false
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
    if (!isStopped) cancelTimer = clock.after(PAUSE_MS, look)
  }

  const isCalledFor = () => isWanted && !isStopped

  async function tellWhileWanted(): Promise<void> {
    while (isCalledFor()) {
      isWanted = false
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
    let after: [number, string] | undefined
    for (;;) {
      const query = { where: { tellAt: { not: null } }, order, limit: BATCH, columns: COLUMNS }
      const rows = await store.find('operations', after ? { ...query, after } : query)
      // In their order, and marked together: what is told does not wait for the mark of the one before.
      await Promise.all(rows.map(row => tellOne(store, summaryOf(row))))
      const last = rows.at(-1)
      if (!last || rows.length < BATCH || isStopped) return
      after = [last.tellAt ?? 0, last.id]
    }
  }

  /** The mark is set after it was told: told twice is better than never. One that cannot be told holds up no other. */
  async function tellOne(store: Store, operation: OperationSummary): Promise<void> {
    try {
      await tell(operation)
    } catch (error) {
      return putOff(error)
    }
    const where = { id: operation.id, tellAt: { not: null } }
    const set = { announcedAt: Math.round(clock.now()), tellAt: null }
    await store.commit([update('operations', { where, set, rows: 'any' })])
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
    async stop() {
      isStopped = true
      cancelTimer()
      await telling
    },
  }
}
