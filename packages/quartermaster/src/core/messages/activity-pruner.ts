import { messageOf, type Settings } from '../../contracts/index.ts'
import { type Clock, createRounds, type Log, type Rounds } from '../kernel/index.ts'
import { mustNotExist, pagesOf, remove, type Store, type Write } from '../store/index.ts'

/** Deletes rows of logs that have been kept long enough. */
interface ActivityPruner {
  /** Prunes now and every hour. */
  start(): void
  /** Resolves when the present batch is done. */
  stop(): Promise<void>
  /** Prunes once and returns the number of deleted rows. */
  prune(): Promise<number>
}

interface ActivityPrunerDeps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly settings: Pick<Settings, 'activityDays'>
  /** Whether this process prunes; always by default. */
  readonly isOurs?: (() => boolean) | undefined
  /** Other writes that delete what belongs to the rows, in the same commit. */
  relatedWrites?(activityIds: readonly string[]): Promise<readonly Write[]>
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Small enough not to delay the commit of a message behind it. */
const BATCH = 500

export function createActivityPruner(deps: ActivityPrunerDeps): ActivityPruner {
  const { store, clock, log, settings, isOurs, relatedWrites = async () => [] } = deps
  const rounds: Rounds = createRounds({
    clock,
    everyMs: HOUR_MS,
    isOurs,
    work: prune,
    onError: error => log.warn('forgetting old activity failed and is tried again', { error: messageOf(error) }),
  })

  async function prune(): Promise<number> {
    // Cursors expire at the limit and rows an hour later, so that differing clocks leave no gap after a valid cursor.
    const createdAt = { below: Math.round(clock.now() - settings.activityDays * DAY_MS - HOUR_MS) }
    const columns = ['id', 'createdAt', 'workspaceId', 'delegationId'] as const
    const query = { where: { createdAt }, order: { by: ['createdAt', 'id'] }, columns, limit: BATCH } as const
    let count = 0
    if (rounds.isStopped()) return count
    for await (const rows of pagesOf(store, 'activity', query)) {
      count += await deleteRows(rows)
      await clock.breathe()
      if (rounds.isStopped()) break
    }
    return count
  }

  /** Rows to keep: the newest, because sequence numbers would be reused, and those that wait in an inbox or for an answer. */
  async function deleteRows(rows: readonly Old[]): Promise<number> {
    const all = rows.map(({ id }) => id)
    const waiting = await store.find('inbox', { where: { id: { in: all } }, columns: ['id'], limit: BATCH })
    const kept = new Set([...waiting.map(({ id }) => id), ...(await newestAmong(rows)), ...(await ofOpenTasks(rows))])
    const ids = all.filter(id => !kept.has(id))
    if (ids.length === 0) return 0
    const outcome = await store.commit([
      mustNotExist('inbox', { id: { in: ids } }, 'inbox.without'),
      remove('activity', { where: { id: { in: ids } }, rows: 'any' }),
      ...(await relatedWrites(ids)),
    ])
    return outcome.committed ? (outcome.rows[1] ?? 0) : 0
  }

  /** A task may stay open longer than a log is kept, and is answered through its message. Closed tasks never reopen. */
  async function ofOpenTasks(rows: readonly Old[]): Promise<readonly string[]> {
    const tasks = [...new Set(rows.flatMap(({ delegationId }) => (delegationId === null ? [] : [delegationId])))]
    if (tasks.length === 0) return []
    const where = { id: { in: tasks }, dueAt: { atLeast: 0 } }
    const open = await store.find('delegations', { where, columns: ['id'], limit: BATCH })
    const openIds = new Set(open.map(({ id }) => id))
    return rows.filter(({ delegationId }) => delegationId !== null && openIds.has(delegationId)).map(({ id }) => id)
  }

  async function newestAmong(rows: readonly Old[]): Promise<readonly string[]> {
    const found: string[] = []
    for (const workspaceId of new Set(rows.map(row => row.workspaceId))) {
      const order = { by: ['sequence'] as const, direction: 'descending' } as const
      const [newest] = await store.find('activity', { where: { workspaceId }, order, limit: 1, columns: ['id'] })
      if (newest) found.push(newest.id)
    }
    return found
  }

  return { start: rounds.start, stop: rounds.stop, prune }
}

interface Old {
  readonly id: string
  readonly workspaceId: string
  readonly delegationId: string | null
}
