import { messageOf, type Settings } from '../../../contracts/index.ts'
import { type Clock, createRounds, type Log, type Rounds } from '../../kernel/index.ts'
import { remove, type Store, type Where, type Write } from '../../store/index.ts'
import { DAY_MS } from './operation-storage.ts'
import { createResultBudget } from './stored-results.ts'

/** Forgets what has been kept long enough. */
export interface Pruner {
  /** Begins now, and again every hour; what results take is looked at every minute. */
  start(): void
  /** Resolves when the batch it is at is done. */
  stop(): Promise<void>
  /** Once; answers how many rows went. */
  prune(): Promise<number>
}

interface PrunerDeps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly settings: Pick<Settings, 'storedResultsBytes' | 'auditDays'>
  /** Whether it is this process's to do; always when absent. */
  readonly isOurs?: (() => boolean) | undefined
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Small enough that a call's commit behind it does not feel it. */
const BATCH = 500

export function createPruner({ store, clock, log, settings, isOurs }: PrunerDeps): Pruner {
  const room = createResultBudget({ store, clock, settings })
  const forgetting: Rounds = createRounds({
    clock,
    everyMs: HOUR_MS,
    isOurs,
    work: prune,
    onError: error => log.warn('forgetting old operations failed and is tried again', { error: messageOf(error) }),
  })
  const makingRoom: Rounds = createRounds({
    clock,
    everyMs: MINUTE_MS,
    isOurs,
    work: () => room(makingRoom.isStopped),
    onError: error => log.warn('making room for results failed and is tried again', { error: messageOf(error) }),
  })

  async function prune(): Promise<number> {
    let total = 0
    for (const where of keptLongEnough(Math.round(clock.now()))) total += await inBatches(() => endedOperations(where))
    for (const since of ['expiresAt', 'revokedAt'] as const) total += await inBatches(() => oldGrants(since))
    for await (const organisation of audited(store)) total += await inBatches(() => oldAudit(organisation))
    return total
  }

  async function inBatches(removeBatch: () => Promise<number>): Promise<number> {
    for (let total = 0; ; await clock.breathe()) {
      const removed = forgetting.isStopped() ? 0 : await removeBatch()
      total += removed
      if (removed < BATCH) return total
    }
  }

  async function endedOperations(where: Where<'operations'>): Promise<number> {
    const ids = (await store.find('operations', { where, columns: ['id'], limit: BATCH })).map(({ id }) => id)
    if (ids.length === 0) return 0
    const { committed } = await store.commit(withoutOperations(ids, where))
    // One of them is being retried at this moment. The others go one by one.
    return committed ? ids.length : await oneByOne(ids, where)
  }

  async function oneByOne(ids: readonly string[], where: Where<'operations'>): Promise<number> {
    let count = 0
    for (const id of ids) if ((await store.commit(withoutOperations([id], where))).committed) count++
    return count
  }

  const beforeTheAudit = () => ({ below: Math.round(clock.now() - settings.auditDays * DAY_MS) })

  /** Expired grants tell who allowed what, so they are kept as long as the audit. A used grant expires with the request that it answered. */
  async function oldGrants(since: 'expiresAt' | 'revokedAt'): Promise<number> {
    const where = { [since]: beforeTheAudit() }
    const ids = (await store.find('grants', { where, columns: ['id'], limit: BATCH })).map(({ id }) => id)
    if (ids.length > 0) await store.commit([remove('grants', { where: { id: { in: ids } }, rows: 'any' })])
    return ids.length
  }

  async function oldAudit(organisation: string): Promise<number> {
    // With the organisation, as the index has it that the newest are read by.
    const where = { organisation, at: beforeTheAudit() }
    const ids = (await store.find('audit', { where, columns: ['id'], limit: BATCH })).map(({ id }) => id)
    if (ids.length > 0) await store.commit([remove('audit', { where: { id: { in: ids } }, rows: 'any' })])
    return ids.length
  }

  return {
    start() {
      forgetting.start()
      makingRoom.start()
    },
    async stop() {
      await Promise.all([forgetting.stop(), makingRoom.stop()])
    },
    prune,
  }
}

/** Every organisation that has lines in the audit: one step in the index for each, however many lines there are. */
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

/** Undelivered results are kept for this much longer, and not forever. */
const UNTOLD_MS = 30 * DAY_MS

/** Which of what has ended goes: what was told; tasks, whose callers said how long they ask for them; and what is older still. */
function keptLongEnough(now: number): readonly Where<'operations'>[] {
  const over = { keepUntil: { below: now }, endedAt: { not: null } }
  return [
    { ...over, tellAt: null },
    { ...over, ttlMs: { not: null } },
    { ...over, keepUntil: { below: now - UNTOLD_MS } },
  ]
}

/** Their results and requests go with them, in the same commit: nothing would ever find those alone. All of them go, or none. */
function withoutOperations(ids: readonly string[], where: Where<'operations'>): Write[] {
  return [
    remove('operations', { where: { ...where, id: { in: ids } }, rows: ids.length, guard: 'operation.over' }),
    remove('results', { where: { operationId: { in: ids } }, rows: 'any' }),
    remove('approvals', { where: { id: { in: ids } }, rows: 'any' }),
  ]
}
