import { messageOf, type Settings } from '../../../contracts/index.ts'
import type { Cancel, Clock, Log } from '../../kernel/index.ts'
import { remove, type Store, type Write } from '../../store/index.ts'

/** Forgets what has been kept long enough. */
export interface Pruner {
  /** Begins now, and again every hour. */
  start(): void
  /** Resolves when the batch it is at is done. */
  stop(): Promise<void>
  /** Once; answers how many rows went. */
  prune(): Promise<number>
}

export interface PrunerDeps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly settings: Pick<Settings, 'auditDays'>
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Small enough that a call's commit behind it does not feel it. */
const BATCH = 500

export function createPruner({ store, clock, log, settings }: PrunerDeps): Pruner {
  let isStopped = false
  let cancelTimer: Cancel = () => {}
  let pruning: Promise<unknown> | undefined

  async function prune(): Promise<number> {
    return (await inBatches(endedOperations)) + (await inBatches(oldAudit))
  }

  async function inBatches(removeBatch: () => Promise<number>): Promise<number> {
    for (let total = 0; ; await clock.breathe()) {
      const removed = isStopped ? 0 : await removeBatch()
      total += removed
      if (removed < BATCH) return total
    }
  }

  async function endedOperations(): Promise<number> {
    const where = { keepUntil: { below: Math.round(clock.now()) }, endedAt: { not: null } }
    const ids = (await store.find('operations', { where, columns: ['id'], limit: BATCH })).map(({ id }) => id)
    if (ids.length > 0) await store.commit(withoutOperations(ids))
    return ids.length
  }

  async function oldAudit(): Promise<number> {
    const where = { at: { below: Math.round(clock.now() - settings.auditDays * DAY_MS) } }
    const ids = (await store.find('audit', { where, columns: ['id'], limit: BATCH })).map(({ id }) => id)
    if (ids.length > 0) await store.commit([remove('audit', { where: { id: { in: ids } }, rows: 'any' })])
    return ids.length
  }

  function begin(): void {
    pruning = prune()
      .catch(error => log.warn('forgetting old operations failed and is tried again', { error: messageOf(error) }))
      .finally(() => {
        if (!isStopped) cancelTimer = clock.after(HOUR_MS, begin)
      })
  }

  return {
    start: begin,
    async stop() {
      isStopped = true
      cancelTimer()
      await pruning
    },
    prune,
  }
}

/** Their results go with them, in the same commit: nothing would ever find those alone. */
function withoutOperations(ids: readonly string[]): Write[] {
  return [
    remove('operations', { where: { id: { in: ids } }, rows: 'any' }),
    remove('results', { where: { operationId: { in: ids } }, rows: 'any' }),
  ]
}
