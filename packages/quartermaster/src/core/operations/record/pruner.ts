import { messageOf, type Settings } from '../../../contracts/index.ts'
import { type Clock, createRounds, type Log, type Rounds } from '../../kernel/index.ts'
import { remove, type Store, type Where, type Write } from '../../store/index.ts'
import { DAY_MS } from './operation-storage.ts'
import { createResultBudget } from './stored-results.ts'

/** Deletes rows that were kept long enough. */
export interface Pruner {
  /** Prunes now and every hour, and checks the size of the stored results every minute. */
  start(): void
  /** Resolves after the current batch. */
  stop(): Promise<void>
  /** Prunes once; returns how many rows were deleted. */
  prune(): Promise<number>
}

interface PrunerDeps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly settings: Pick<Settings, 'storedResultsBytes' | 'auditDays'>
  /** Whether this process prunes, rather than another; always when absent. */
  readonly isOurs?: (() => boolean) | undefined
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Small enough not to delay the commits of calls. */
const BATCH = 500

export function createPruner({ store, clock, log, settings, isOurs }: PrunerDeps): Pruner {
  const limitResults = createResultBudget({ store, clock, settings })
  const pruning: Rounds = createRounds({
    clock,
    everyMs: HOUR_MS,
    isOurs,
    work: prune,
    onError: error => log.warn('pruning old operations failed and is tried again', { error: messageOf(error) }),
  })
  const limiting: Rounds = createRounds({
    clock,
    everyMs: MINUTE_MS,
    isOurs,
    work: () => limitResults(limiting.isStopped),
    onError: error => log.warn('dropping old results failed and is tried again', { error: messageOf(error) }),
  })

  async function prune(): Promise<number> {
    let total = 0
    for (const where of keptLongEnough(Math.round(clock.now()))) total += await inBatches(() => endedOperations(where))
    const at = { below: Math.round(clock.now() - settings.auditDays * DAY_MS) }
    // Expired grants tell who allowed what, so they are kept as long as the audit. A used grant expires with its request.
    for (const since of ['expiresAt', 'revokedAt'] as const)
      total += await inBatches(() => removeBatch('grants', { [since]: at }))
    // By organisation, as in the index that lists the audit.
    for await (const organisation of audited(store))
      total += await inBatches(() => removeBatch('audit', { organisation, at }))
    return total
  }

  async function inBatches(work: () => Promise<number>): Promise<number> {
    for (let total = 0; ; await clock.breathe()) {
      const removed = pruning.isStopped() ? 0 : await work()
      total += removed
      if (removed < BATCH) return total
    }
  }

  async function endedOperations(where: Where<'operations'>): Promise<number> {
    const ids = (await store.find('operations', { where, columns: ['id'], limit: BATCH })).map(({ id }) => id)
    if (ids.length === 0) return 0
    const { committed } = await store.commit(withoutOperations(ids, where))
    // A person retries one of them at this moment. The others are deleted one by one.
    return committed ? ids.length : await oneByOne(ids, where)
  }

  async function oneByOne(ids: readonly string[], where: Where<'operations'>): Promise<number> {
    let count = 0
    for (const id of ids) if ((await store.commit(withoutOperations([id], where))).committed) count++
    return count
  }

  async function removeBatch<T extends 'grants' | 'audit'>(table: T, where: Where<T>): Promise<number> {
    const ids = (await store.find(table, { where, columns: ['id'], limit: BATCH })).map(({ id }) => id)
    const these = { id: { in: ids } } as unknown as Where<T>
    if (ids.length > 0) await store.commit([remove(table, { where: these, rows: 'any' })])
    return ids.length
  }

  return {
    start() {
      pruning.start()
      limiting.start()
    },
    async stop() {
      await Promise.all([pruning.stop(), limiting.stop()])
    },
    prune,
  }
}

/** The organisations in the audit, with one index lookup for each, however many lines there are. */
async function* audited(store: Store): AsyncGenerator<string> {
  const order = { by: ['organisation', 'at', 'id'] as const }
  for (let last = ''; ; ) {
    const where = { organisation: { above: last } }
    const [line] = await store.find('audit', { where, order, columns: ['organisation'], limit: 1 })
    if (!line) return
    last = line.organisation
    yield last
  }
}

/** Undelivered results are kept this much longer. */
const UNDELIVERED_MS = 30 * DAY_MS

/** Ended operations to delete: delivered ones; tasks, whose callers set the time; and undelivered ones after a month. */
function keptLongEnough(now: number): readonly Where<'operations'>[] {
  const over = { keepUntil: { below: now }, endedAt: { not: null } }
  return [
    { ...over, tellAt: null },
    { ...over, ttlMs: { not: null } },
    { ...over, keepUntil: { below: now - UNDELIVERED_MS } },
  ]
}

/** Deletes all of these operations or none, with their results and requests: nothing would ever find those alone. */
function withoutOperations(ids: readonly string[], where: Where<'operations'>): Write[] {
  return [
    remove('operations', { where: { ...where, id: { in: ids } }, rows: ids.length, guard: 'operation.over' }),
    remove('results', { where: { operationId: { in: ids } }, rows: 'any' }),
    remove('approvals', { where: { id: { in: ids } }, rows: 'any' }),
  ]
}
