import { type ActivityRow, AppError, type WorkspaceRow } from '../../contracts/index.ts'
import type { Store } from '../store/index.ts'
import { type ReadRows, rowsWithin } from './rows-within.ts'

/** What a workspace and one of its peers have said to each other. */
export interface History {
  /** The newest page, or the one before a place; both sides, the oldest first. */
  read(workspace: Pick<WorkspaceRow, 'id' | 'organisation'>, query: HistoryQuery): Promise<HistoryPage>
  /** What was said last about a task, by this log; the oldest first. */
  ofTask(workspace: Pick<WorkspaceRow, 'id' | 'organisation'>, query: TaskQuery): Promise<readonly ActivityRow[]>
}

export interface TaskQuery {
  readonly conversationId: string
  readonly taskId: string
  readonly limit: number
}

export interface HistoryQuery {
  readonly peer: string
  readonly limit: number
  /** A time (RFC 3339), or the `before` of a page. */
  readonly before?: string | undefined
}

export interface HistoryPage {
  readonly rows: readonly ActivityRow[]
  /** What leads to the page before this one; absent when there is none. */
  readonly before?: string
}

/** As many rows of one moment are added to a page rather than left to the next. */
const MOST_TIED = 500

export function createHistory({ store }: { readonly store: Store }): History {
  /** What is older than a place. */
  const olderIn =
    (where: Where, from: Place | undefined): ReadRows =>
    (last, limit) => {
      const after = last ? placeBehind(last) : from
      return store.find('activity', { where, order: NEWEST, limit, ...(after && { after }) })
    }

  return {
    async read({ id: workspaceId, organisation }, { peer: peerId, limit, before }) {
      const after = before === undefined ? undefined : placeIn(before)
      const where = { organisation, workspaceId, peerId }
      const page = await rowsWithin(limit, olderIn(where, after))
      const last = page.rows.at(-1)
      if (!last || !page.more) return { rows: page.rows.toReversed() }
      // Whoever goes on with the time of the oldest row must not miss others of the same moment.
      const moment = { ...where, createdAt: last.createdAt }
      const tied = await rowsWithin(MOST_TIED, olderIn(moment, placeBehind(last)), page.rows)
      const rows = [...page.rows, ...tied.rows]
      const first = rows.at(-1) ?? last
      const isLast = (await olderIn(where, placeBehind(first))(undefined, 1)).length === 0
      return { rows: rows.toReversed(), ...(isLast ? {} : { before: placeOf(first) }) }
    },
    async ofTask({ id: workspaceId, organisation }, { conversationId, taskId: delegationId, limit }) {
      const where = { organisation, workspaceId, conversationId, delegationId }
      const order = { by: ['sequence'] as const, direction: 'descending' } as const
      const { rows } = await rowsWithin(limit, (last, wanted) =>
        store.find('activity', { where, order, limit: wanted, ...(last && { after: [last.sequence] }) }),
      )
      return rows.toReversed()
    },
  }
}

const NEWEST = { by: ['createdAt', 'sequence'] as const, direction: 'descending' } as const

type Place = readonly [createdAt: number, sequence: number]

function placeBehind({ createdAt, sequence }: ActivityRow): Place {
  return [createdAt, sequence]
}

interface Where {
  readonly organisation: string
  readonly workspaceId: string
  readonly peerId: string
  readonly createdAt?: number
}

/** `2026-11-16T09:30:00.000Z#17`: a time that also says behind which of its rows. */
function placeOf({ createdAt, sequence }: ActivityRow): string {
  return `${new Date(createdAt).toISOString()}#${sequence}`
}

/** Rows count from 1, so that a time alone leads before all rows of its moment. */
function placeIn(text: string): Place {
  const [, time = '', sequence = '0'] = /^([^#]{10,40})(?:#(\d{1,15}))?$/.exec(text) ?? []
  const [isTime, fraction = ''] = TIME.exec(time) ?? []
  const at = isTime === undefined ? Number.NaN : Date.parse(time)
  // Rows are dated by the millisecond: what lies within one is behind all of it, and `parse` leaves it out.
  const within = /[1-9]/.test(fraction.slice(3)) ? 1 : 0
  if (!Number.isNaN(at)) return [Math.max(0, at + within), Number(sequence)]
  const message = '"before_ts" must be a time such as 2026-11-16T09:30:00Z, or the "before_ts" of the last answer.'
  throw new AppError('INPUT_INVALID', message)
}

const TIME = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.(\d{1,9}))?(?:[Zz]|[+-]\d\d:\d\d)$/
