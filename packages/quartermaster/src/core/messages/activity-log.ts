import {
  type ActivityRow,
  type ActivityType,
  AppError,
  type Settings,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import type { Clock } from '../kernel/index.ts'
import type { Store } from '../store/index.ts'
import { activityCursor } from './activity-cursor.ts'
import { rowsWithin } from './rows-within.ts'

/** The logs of the workspaces, to be read. */
export interface ActivityLog {
  /** The next page. Throws `CURSOR_GONE` for a place that is not in this log, or not any more. */
  read(workspace: LogOwner, query: ActivityQuery): Promise<ActivityPage>
  /** The place that `sinceSeconds` ago is, or where the cursor leads. Throws `CURSOR_GONE`. */
  place(workspace: LogOwner, query: Pick<ActivityQuery, 'since' | 'sinceSeconds'>): Promise<number>
  /** One row of this log. */
  get(workspace: LogOwner, id: string): Promise<ActivityRow | undefined>
}

export type LogOwner = Pick<WorkspaceRow, 'id' | 'organisation'>

export interface ActivityQuery {
  /** Where the page before ended. */
  readonly since?: string | undefined
  /** From this long ago on, when there is no cursor. */
  readonly sinceSeconds?: number | undefined
  readonly types?: readonly ActivityType[] | undefined
  /** The id of a peer. */
  readonly peer?: string | undefined
  readonly limit?: number | undefined
}

export interface ActivityPage {
  readonly rows: readonly ActivityRow[]
  /** Where to go on. */
  readonly cursor: string
  /** Whether more is there already. */
  readonly more: boolean
}

export interface ActivityLogDeps {
  readonly store: Store
  readonly clock: Clock
  readonly settings: Pick<Settings, 'activityDays'>
}

/** Without a cursor: what happened while somebody was away for a moment. */
export const USUAL_WINDOW_SECONDS = 600
export const LONGEST_WINDOW_SECONDS = 30 * 86_400
export const USUAL_ROWS = 100
export const MOST_ROWS = 500

const DAY_MS = 86_400_000
/** Rows that were written out of the order of their times stand this near to each other. */
const NEAR = 50

export function createActivityLog({ store, clock, settings }: ActivityLogDeps): ActivityLog {
  /** The first row from then on. */
  async function firstSince(owner: LogOwner, time: number): Promise<number | undefined> {
    const at = Math.max(0, Math.round(time))
    const where = { organisation: owner.organisation, workspaceId: owner.id, createdAt: { atLeast: at } }
    const order = { by: ['createdAt', 'sequence'] as const }
    const [earliest] = await store.find('activity', { where, order, limit: 1, columns: ['sequence'] })
    return earliest && lowestBefore(owner, earliest.sequence, at)
  }

  /** Clocks are set back, and those of several processes differ: rows of later times may stand before the earliest one. */
  async function lowestBefore({ id: workspaceId, organisation }: LogOwner, from: number, at: number): Promise<number> {
    const order = { by: ['sequence'] as const, direction: 'descending' } as const
    const query = {
      where: { organisation, workspaceId },
      order,
      columns: ['sequence', 'createdAt'] as const,
      limit: NEAR,
    }
    for (let lowest = from; ; ) {
      const rows = await store.find('activity', { ...query, after: [lowest] })
      const before = rows.findLast(({ createdAt }) => createdAt >= at)
      if (!before) return lowest
      lowest = before.sequence
    }
  }

  async function newest({ id: workspaceId, organisation }: LogOwner): Promise<number> {
    const order = { by: ['sequence'] as const, direction: 'descending' } as const
    const where = { organisation, workspaceId }
    return (await store.find('activity', { where, order, limit: 1, columns: ['sequence'] }))[0]?.sequence ?? 0
  }

  /** From when on nothing is missing: what is older is forgotten, or about to be. */
  const keptSince = () => clock.now() - settings.activityDays * DAY_MS

  async function checked(owner: LogOwner, since: string): Promise<number> {
    const cursor = activityCursor.read(since)
    const last = await newest(owner)
    if (
      cursor?.workspaceId === owner.id &&
      cursor.sequence <= last &&
      (await isNextThere(owner, cursor.sequence, last))
    )
      return cursor.sequence
    const first = await firstSince(owner, keptSince())
    throw gone(activityCursor.write({ workspaceId: owner.id, sequence: first === undefined ? last : first - 1 }))
  }

  /** What is not acknowledged stays when all around it is forgotten, so that a row alone proves nothing: its age does. */
  async function isNextThere({ id: workspaceId, organisation }: LogOwner, sequence: number, last: number) {
    if (sequence === last) return true
    const where = { organisation, workspaceId, sequence: sequence + 1 }
    const [next] = await store.find('activity', { where, limit: 1, columns: ['createdAt'] })
    return next !== undefined && next.createdAt >= keptSince()
  }

  async function place(owner: LogOwner, { since, sinceSeconds = USUAL_WINDOW_SECONDS }: ActivityQuery) {
    if (since !== undefined) return checked(owner, since)
    // Asked first: what comes meanwhile is behind it.
    const last = await newest(owner)
    const first = await firstSince(owner, Math.max(clock.now() - sinceSeconds * 1_000, keptSince()))
    return first === undefined ? last : first - 1
  }

  return {
    place,
    async get({ id: workspaceId, organisation }, id) {
      const row = await store.get('activity', id)
      return row?.workspaceId === workspaceId && row.organisation === organisation ? row : undefined
    },
    async read(owner, query) {
      const { id: workspaceId, organisation } = owner
      const limit = Math.min(query.limit ?? USUAL_ROWS, MOST_ROWS)
      const from = await place(owner, query)
      // A page that leaves rows out ends here and not at its last row: the next need not look at them again.
      const last = await newest(owner)
      const where = {
        organisation,
        workspaceId,
        sequence: { atMost: last },
        ...(query.types && { type: { in: query.types } }),
        ...(query.peer !== undefined && { peerId: query.peer }),
      }
      const order = { by: ['sequence'] as const }
      const { rows, more } = await rowsWithin(limit, (row, wanted) =>
        store.find('activity', { where, order, after: [row?.sequence ?? from], limit: wanted }),
      )
      const sequence = more ? (rows.at(-1)?.sequence ?? last) : Math.max(last, from)
      return { rows, more, cursor: activityCursor.write({ workspaceId, sequence }) }
    },
  }
}

function gone(firstCursor: string): AppError {
  const message = 'This cursor is not of this log, or what came behind it is not kept any more.'
  const way = `Go on with sinceSeconds=${USUAL_WINDOW_SECONDS}, or with the first cursor that counts: since=${firstCursor}.`
  return new AppError('CURSOR_GONE', `${message} ${way} What waits is in the inbox in any case.`, {
    details: { sinceSeconds: USUAL_WINDOW_SECONDS, firstCursor },
  })
}
