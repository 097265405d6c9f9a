import {
  type ActivityRow,
  type ActivityType,
  AppError,
  type Settings,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type Clock } from '../kernel/index.ts'
import { type ApiCaller, isNamed, type Organisation, visible } from '../organisation/index.ts'
import { type Store } from '../store/index.ts'
import { bytesOf } from './message.ts'
import { type CheckResult, type WaitDeps, waitUntilFound } from './readers.ts'

/** Reads the logs of workspaces. */
export interface ActivityLog {
  /** The next page. Throws `CURSOR_GONE` for a cursor of another log or a pruned row. */
  read(workspace: LogOwner, query: ActivityQuery): Promise<ActivityPage>
  /** The position `sinceSeconds` ago, or of the cursor. Throws `CURSOR_GONE`. */
  place(workspace: LogOwner, query: Pick<ActivityQuery, 'since' | 'sinceSeconds'>): Promise<number>
  get(workspace: LogOwner, id: string): Promise<ActivityRow | undefined>
}

export type LogOwner = Pick<WorkspaceRow, 'id' | 'organisation'>

interface ActivityQuery {
  /** The cursor of the previous page. */
  readonly since?: string | undefined
  /** Without a cursor: start this long ago. */
  readonly sinceSeconds?: number | undefined
  readonly types?: readonly ActivityType[] | undefined
  /** The id of a peer. */
  readonly peer?: string | undefined
  readonly limit?: number | undefined
}

export interface ActivityPage {
  readonly rows: readonly ActivityRow[]
  /** The cursor of the next page. */
  readonly cursor: string
  /** Whether more rows exist already. */
  readonly more: boolean
}

/** Default start without a cursor: covers a short absence. */
const USUAL_WINDOW_SECONDS = 600
const USUAL_ROWS = 100
const MOST_ROWS = 500

const DAY_MS = 86_400_000
/** Rows written out of time order are at most this far apart. */
const NEAR = 50

export function createActivityLog({
  store,
  clock,
  settings,
}: {
  store: Store
  clock: Clock
  settings: Pick<Settings, 'activityDays'>
}): ActivityLog {
  /** Finds the first row at or after a time. */
  async function firstSince(owner: LogOwner, time: number): Promise<number | undefined> {
    const at = Math.max(0, Math.round(time))
    const where = { organisation: owner.organisation, workspaceId: owner.id, createdAt: { atLeast: at } }
    const order = { by: ['createdAt', 'sequence'] as const }
    const [earliest] = await store.find('activity', { where, order, limit: 1, columns: ['sequence'] })
    return earliest && lowestBefore(owner, earliest.sequence, at)
  }

  /** Clocks are set back, and those of several processes differ: rows of later times may precede the earliest row. */
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

  /** The time from which no row is missing: older rows are pruned or about to be. */
  const keptSince = () => clock.now() - settings.activityDays * DAY_MS

  async function checkCursor(owner: LogOwner, since: string): Promise<number> {
    const cursor = activityCursor.read(since)
    const last = await newest(owner)
    if (
      cursor?.workspaceId === owner.id &&
      cursor.sequence <= last &&
      (await isNextThere(owner, cursor.sequence, last))
    )
      return cursor.sequence
    const first = await firstSince(owner, keptSince())
    throw cursorGone(activityCursor.write({ workspaceId: owner.id, sequence: first === undefined ? last : first - 1 }))
  }

  /** Unacknowledged rows outlive their neighbours, so the existence of a row does not prove its cursor valid; its age does. */
  async function isNextThere({ id: workspaceId, organisation }: LogOwner, sequence: number, last: number) {
    if (sequence === last) return true
    const where = { organisation, workspaceId, sequence: sequence + 1 }
    const [next] = await store.find('activity', { where, limit: 1, columns: ['createdAt'] })
    return next !== undefined && next.createdAt >= keptSince()
  }

  async function place(owner: LogOwner, { since, sinceSeconds = USUAL_WINDOW_SECONDS }: ActivityQuery) {
    if (since !== undefined) return checkCursor(owner, since)
    // Read first: rows that arrive meanwhile come after this position.
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
      // A filtered page ends here rather than at its last row, so that the next page does not read the skipped rows again.
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

function cursorGone(firstCursor: string): AppError {
  const message = 'This cursor belongs to another log, or the rows after it were deleted.'
  const way = `Continue with sinceSeconds=${USUAL_WINDOW_SECONDS}, or with the first valid cursor: since=${firstCursor}.`
  return new AppError('CURSOR_GONE', `${message} ${way} Unread messages are still in the inbox.`, {
    details: { sinceSeconds: USUAL_WINDOW_SECONDS, firstCursor },
  })
}

/** A position in the log of one workspace: after this row. */
interface ActivityCursor {
  readonly workspaceId: string
  readonly sequence: number
}

/** Cursors are texts such as `17@ws_…`. With the workspace in it, a cursor of another log is never mistaken for one of this log. */
export const activityCursor = {
  write: ({ workspaceId, sequence }: ActivityCursor): string => `${sequence}@${workspaceId}`,
  read(text: string): ActivityCursor | undefined {
    const [, digits, workspaceId] = /^(0|[1-9]\d{0,14})@([\w-]{1,128})$/.exec(text) ?? []
    return digits === undefined || workspaceId === undefined ? undefined : { sequence: Number(digits), workspaceId }
  },
}

/** The workspace whose log is meant: a workspace reads its own, other callers name one. */
export async function logOf(
  organisation: Organisation,
  visitor: ApiCaller,
  id: string | undefined,
): Promise<WorkspaceRow> {
  if (visitor.kind === 'workspace' && (id === undefined || isNamed(visitor.workspace, id))) return visitor.workspace
  if (id === undefined) throw new AppError('INPUT_INVALID', 'Name the workspace: workspaceId=, its id or its name.')
  if (visitor.kind === 'workspace')
    throw new AppError('NAME_UNKNOWN', `There is no workspace "${id}" whose log is yours.`)
  return visible(organisation, visitor, id)
}

/** Rows limited to the size of one answer. */
interface RowsWithin {
  readonly rows: readonly ActivityRow[]
  /** Whether more rows follow. */
  readonly more: boolean
}

/** The next rows after this one; from the start if there is none. */
type ReadRows = (last: ActivityRow | undefined, limit: number) => Promise<readonly ActivityRow[]>

/** Text limit of one answer; the page ends there. */
const MOST_BYTES = 2 * 1_024 * 1_024
/** Rows read per query. A page of the largest messages would load a gigabyte before the first was measured. */
const STEP = 32

/** Reads up to the wanted number of rows and up to the size of one answer, including rows already in it. Always returns one. */
export async function rowsWithin(
  limit: number,
  read: ReadRows,
  before: readonly ActivityRow[] = [],
): Promise<RowsWithin> {
  const rows: ActivityRow[] = []
  for (let size = before.reduce((sum, row) => sum + sizeOf(row), 0); ; ) {
    const wanted = Math.min(STEP, limit + 1 - rows.length)
    const found = await read(rows.at(-1), wanted)
    for (const row of found) {
      size += sizeOf(row)
      if (rows.length === limit || (rows.length + before.length > 0 && size > MOST_BYTES)) return { rows, more: true }
      rows.push(row)
    }
    if (found.length < wanted) return { rows, more: false }
  }
}

/** Estimates the size as JSON, where invisible characters grow sixfold. Parts are counted with the text, which repeats them. */
function sizeOf({ text, parts }: ActivityRow): number {
  return bytesOf(JSON.stringify(text)) * (parts.length > 0 ? 2 : 1)
}

/** Rows read ahead of the follower. */
const PAGE = 20
/** Polling interval in case no notification arrives. */
const POLL_MS = 60_000

/**
 * Yields every row after a position as it is written, until the signal aborts or everything stops. Reads only on demand, so that a
 * slow reader costs one page of memory.
 */
export async function* followLog(
  deps: WaitDeps & { readonly activity: ActivityLog },
  owner: LogOwner,
  { from, signal }: { readonly from: number; readonly signal: AbortSignal },
): AsyncGenerator<ActivityRow> {
  const { activity, watchers } = deps
  const workspaceId = owner.id
  for (let at = from; !signal.aborted && !watchers.isStopped(); ) {
    const rows = await waitUntilFound(
      deps,
      { workspaceId, waitMs: POLL_MS, signal },
      async (): Promise<CheckResult<readonly ActivityRow[]>> => {
        const since = activityCursor.write({ workspaceId, sequence: at })
        const page = await activity.read(owner, { since, limit: PAGE })
        return page.rows.length > 0 ? { found: page.rows } : {}
      },
    )
    for (const row of rows ?? []) {
      if (signal.aborted) return
      yield row
      at = row.sequence
    }
  }
}

/** The conversation of a workspace with one peer. */
export interface History {
  /** The newest page, or the page before a position; both directions, oldest first. */
  read(workspace: Pick<WorkspaceRow, 'id' | 'organisation'>, query: HistoryQuery): Promise<HistoryPage>
  /** The last messages about a task in this log, oldest first. */
  ofTask(workspace: Pick<WorkspaceRow, 'id' | 'organisation'>, query: TaskQuery): Promise<readonly ActivityRow[]>
}

interface TaskQuery {
  readonly conversationId: string
  readonly taskId: string
  readonly limit: number
}

interface HistoryQuery {
  readonly peer: string
  readonly limit: number
  /** A time (RFC 3339), or the `before` of a page. */
  readonly before?: string | undefined
}

interface HistoryPage {
  readonly rows: readonly ActivityRow[]
  /** The cursor of the previous page; absent on the first. */
  readonly before?: string
}

/** Rows of the same millisecond that are added to a page rather than left to the next. */
const MOST_TIED = 500

export function createHistory({ store }: { readonly store: Store }): History {
  /** Rows older than a position. */
  const olderIn =
    (where: Where, from: Place | undefined): ReadRows =>
    (last, limit) => {
      const after = last ? positionOf(last) : from
      return store.find('activity', { where, order: NEWEST, limit, ...(after && { after }) })
    }

  return {
    async read({ id: workspaceId, organisation }, { peer: peerId, limit, before }) {
      const after = before === undefined ? undefined : parseHistoryCursor(before)
      const where = { organisation, workspaceId, peerId }
      const page = await rowsWithin(limit, olderIn(where, after))
      const last = page.rows.at(-1)
      if (!last || !page.more) return { rows: page.rows.toReversed() }
      // A reader that continues with the time of the oldest row must not miss other rows of that millisecond.
      const moment = { ...where, createdAt: last.createdAt }
      const tied = await rowsWithin(MOST_TIED, olderIn(moment, positionOf(last)), page.rows)
      const rows = [...page.rows, ...tied.rows]
      const first = rows.at(-1) ?? last
      const isLast = (await olderIn(where, positionOf(first))(undefined, 1)).length === 0
      return { rows: rows.toReversed(), ...(isLast ? {} : { before: historyCursor(first) }) }
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

function positionOf({ createdAt, sequence }: ActivityRow): Place {
  return [createdAt, sequence]
}

interface Where {
  readonly organisation: string
  readonly workspaceId: string
  readonly peerId: string
  readonly createdAt?: number
}

/** A position such as `2026-11-16T09:30:00.000Z#17`: a time and the row within it. */
function historyCursor({ createdAt, sequence }: ActivityRow): string {
  return `${new Date(createdAt).toISOString()}#${sequence}`
}

/** Rows count from 1, so a time alone precedes all rows of its millisecond. */
function parseHistoryCursor(text: string): Place {
  const [, time = '', sequence = '0'] = /^([^#]{10,40})(?:#(\d{1,15}))?$/.exec(text) ?? []
  const [isTime, fraction = ''] = TIME.exec(time) ?? []
  const at = isTime === undefined ? Number.NaN : Date.parse(time)
  // Rows have millisecond precision and `parse` drops finer digits, so a finer time is after all rows of its millisecond.
  const within = /[1-9]/.test(fraction.slice(3)) ? 1 : 0
  if (!Number.isNaN(at)) return [Math.max(0, at + within), Number(sequence)]
  const message = '"before_ts" must be a time such as 2026-11-16T09:30:00Z, or the "before_ts" of the last answer.'
  throw new AppError('INPUT_INVALID', message)
}

const TIME = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.(\d{1,9}))?(?:[Zz]|[+-]\d\d:\d\d)$/
