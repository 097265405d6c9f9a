import { type DelegationRow, isAppError, messageOf, type Settings } from '../../contracts/index.ts'
import type { Cancel, Log } from '../kernel/index.ts'
import { mustNotExist, pagesOf, type Query, remove } from '../store/index.ts'
import { OPEN_STATES } from './ledger.ts'
import { createRedelivery, type OpenTask, type RedeliveryDeps, type Settling } from './settling.ts'

interface SweeperDeps extends RedeliveryDeps {
  readonly log: Log
  readonly settling: Settling
  readonly settings: Pick<Settings, 'activityDays' | 'delegationQuietSeconds'>
  /** Whether this process deletes old tasks; always by default. */
  readonly isOurs?: (() => boolean) | undefined
}

/** Within this time it finds tasks that another process left and peers whose capacity grew. */
const SWEEP_MS = 60_000
const PAGE = 200
/** Columns read of each open task. */
const OPEN_COLUMNS = [
  'id',
  'organisation',
  'fromId',
  'toId',
  'state',
  'conversationId',
  'progress',
  'progressAt',
  'updatedAt',
  'deadlineAt',
] as const
/** As indexed. */
const OPEN = { dueAt: { atLeast: 0 } } as const
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Ends tasks that nothing else ends: expired ones and those of archived workspaces. Hands out lost tasks again. */
export function createSweeper(deps: SweeperDeps) {
  const { store, clock, log, ledger, settling, settings, isOurs = () => true } = deps
  const { lostTasks, redeliver } = createRedelivery(deps)
  let isStarted = false
  let isStopped = false
  const isOver = () => isStopped
  let cancelTimer: Cancel = () => {}
  let wakesAt = Number.POSITIVE_INFINITY
  let sweeping: Promise<void> = Promise.resolve()
  let prunedAt = Number.NEGATIVE_INFINITY

  /** Ends all of them in turn. One failure does not stop the others; the first is thrown at the end. */
  async function endAll(
    query: Pick<Query<'delegations'>, 'where'> & { order: { by: readonly ['deadlineAt' | 'createdAt', 'id'] } },
    how: (row: DelegationRow) => Promise<unknown>,
  ): Promise<void> {
    const failures: unknown[] = []
    // A page of tasks of maximal length would take hundreds of megabytes, so each is read in its turn.
    const columns = ['id', 'organisation', 'deadlineAt', 'createdAt'] as const
    async function endOne({ organisation, id }: Pick<DelegationRow, 'organisation' | 'id'>): Promise<void> {
      const row = await ledger.get(organisation, id)
      if (row) await how(row)
    }
    for await (const rows of pagesOf(store, 'delegations', { ...query, columns, limit: PAGE })) {
      for (const row of rows) await endOne(row).catch(error => isEnded(error) || failures.push(error))
      if (isOver()) break
    }
    if (failures.length > 0) throw failures[0]
  }

  const expireDue = () =>
    endAll(
      { where: { ...OPEN, deadlineAt: { atMost: Math.round(clock.now()) } }, order: { by: ['deadlineAt', 'id'] } },
      settling.expire,
    )

  /** Ends all tasks that this workspace gave or has. */
  async function archived(organisation: string, id: string): Promise<void> {
    const open = { organisation, state: { in: OPEN_STATES } }
    const order = { by: ['createdAt', 'id'] } as const
    const how = (row: DelegationRow) => settling.archive(row, row.toId === id ? row.toName : row.fromName)
    await inTurn([
      () => endAll({ where: { ...open, toId: id }, order }, how),
      () => endAll({ where: { ...open, fromId: id }, order }, how),
    ])
  }

  /** Runs all, and throws the first failure at the end. */
  async function inTurn(works: readonly (() => Promise<void>)[]): Promise<void> {
    const failures: unknown[] = []
    for (const work of works) if (!isOver()) await work().catch(error => failures.push(error))
    if (failures.length > 0) throw failures[0]
  }

  /** Each workspace with an open task, once. */
  async function checkOpenTasks(): Promise<void> {
    const sides = new Map<string, string>()
    const waitedFor = new Map<string, string>()
    const quiet: OpenTask[] = []
    const query = { where: OPEN, order: { by: ['deadlineAt', 'id'] }, columns: OPEN_COLUMNS, limit: PAGE } as const
    for await (const rows of pagesOf(store, 'delegations', query)) {
      quiet.push(...(await lostTasks(rows)))
      for (const { organisation, fromId, toId, state } of rows) {
        sides.set(fromId, organisation).set(toId, organisation)
        if (state === 'queued') waitedFor.set(toId, organisation)
      }
      await clock.breathe()
      if (isOver()) break
    }
    const endOf = async ([id, organisation]: readonly [string, string]) => {
      const row = await store.get('workspaces', id)
      if (row?.status !== 'active') await archived(organisation, id)
    }
    await inTurn([
      ...Array.from(sides, entry => () => endOf(entry)),
      ...Array.from(
        waitedFor,
        ([id, organisation]) =>
          () =>
            ledger.advance(organisation, id),
      ),
      ...quiet.map(task => () => redeliver(task).catch(unlessEnded)),
    ])
  }

  async function pruneHourly(): Promise<void> {
    if (clock.now() - prunedAt < HOUR_MS || !isOurs()) return
    prunedAt = clock.now()
    await prune()
  }

  const sweep = () => inTurn([expireDue, checkOpenTasks, pruneHourly])

  /** Deletes tasks closed long enough ago and returns their number. */
  async function prune(): Promise<number> {
    const endedAt = { below: Math.round(clock.now() - settings.activityDays * DAY_MS) }
    let count = 0
    const columns = ['id', 'noticeId', 'endedAt'] as const
    const query = { where: { endedAt }, order: { by: ['endedAt', 'id'] }, columns, limit: PAGE } as const
    for await (const rows of pagesOf(store, 'delegations', query)) {
      count += await deleteTasks(rows)
      await clock.breathe()
      if (isOver()) break
    }
    return count
  }

  /** A result that the asker has not acknowledged may still be read. */
  async function deleteTasks(rows: readonly Pick<DelegationRow, 'id' | 'noticeId'>[]): Promise<number> {
    const noticeIds = rows.flatMap(({ noticeId }) => (noticeId === null ? [] : [noticeId]))
    const unread = await store.find('inbox', { where: { id: { in: noticeIds } }, columns: ['id'], limit: PAGE })
    const kept = new Set(unread.map(({ id }) => id))
    const gone = rows.filter(({ noticeId }) => noticeId === null || !kept.has(noticeId))
    if (gone.length === 0) return 0
    const read = gone.flatMap(({ noticeId }) => (noticeId === null ? [] : [noticeId]))
    const outcome = await store.commit([
      mustNotExist('inbox', { id: { in: read } }, 'inbox.without'),
      remove('delegations', { where: { id: { in: gone.map(({ id }) => id) }, dueAt: null }, rows: 'any' }),
    ])
    return outcome.committed ? (outcome.rows[1] ?? 0) : 0
  }

  /** Schedules a sweep for this time. */
  function arm(at: number): void {
    if (!isStarted || isStopped || at >= wakesAt) return
    cancelTimer()
    wakesAt = at
    cancelTimer = clock.after(Math.max(1, at - clock.now()), begin)
  }

  function begin(): void {
    wakesAt = Number.POSITIVE_INFINITY
    // A sweep requested while one is running follows it, never in parallel.
    sweeping = sweeping
      .then(sweep)
      .then(armNext)
      .catch(error => {
        log.warn('ending what is due failed and is tried again', { error: messageOf(error) })
        arm(clock.now() + SWEEP_MS)
      })
  }

  async function armNext(): Promise<void> {
    const [next] = await store.find('delegations', {
      where: OPEN,
      order: { by: ['deadlineAt', 'id'] },
      limit: 1,
      columns: ['deadlineAt'],
    })
    arm(Math.min(next?.deadlineAt ?? Number.POSITIVE_INFINITY, clock.now() + SWEEP_MS))
  }

  return {
    start() {
      isStarted = true
      begin()
    },
    expect: arm,
    sweep,
    prune,
    archived,
    async stop() {
      isStopped = true
      cancelTimer()
      await sweeping
    },
  }
}

function unlessEnded(error: unknown): void {
  if (!isEnded(error)) throw error
}

/** Another process may have been faster, which is fine. */
function isEnded(error: unknown): boolean {
  return isAppError(error) && error.code === 'DELEGATION_ENDED'
}
