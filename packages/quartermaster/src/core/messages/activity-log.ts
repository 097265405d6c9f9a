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
import { type Look, type WaitDeps, waitUntilFound } from './readers.ts'

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

interface ActivityLogDeps {
  readonly store: Store
  readonly clock: Clock
  readonly settings: Pick<Settings, 'activityDays'>
}

/** Without a cursor: what happened during a short absence. */
const USUAL_WINDOW_SECONDS = 600
const USUAL_ROWS = 100
const MOST_ROWS = 500

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

/** A place in the log of one workspace: behind this row. */
export interface ActivityCursor {
  readonly workspaceId: string
  readonly sequence: number
}

/** Cursors as text: `17@ws_…`. The workspace is in it, so that one of another log is never taken for a place in this one. */
export const activityCursor = {
  write: ({ workspaceId, sequence }: ActivityCursor): string => `${sequence}@${workspaceId}`,
  /** Nothing when it is none. */
  read(text: string): ActivityCursor | undefined {
    const [, digits, workspaceId] = /^(0|[1-9]\d{0,14})@([\w-]{1,128})$/.exec(text) ?? []
    return digits === undefined || workspaceId === undefined ? undefined : { sequence: Number(digits), workspaceId }
  },
}

/** Whose log is meant: a workspace has its own, and everybody else names one. */
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

/** Rows that are not too much for one answer. */
interface RowsWithin {
  readonly rows: readonly ActivityRow[]
  /** Whether there are more behind them. */
  readonly more: boolean
}

/** The next rows behind this one; from the beginning when there is none yet. */
type ReadRows = (last: ActivityRow | undefined, limit: number) => Promise<readonly ActivityRow[]>

/** As much text as one answer has; the page ends there, and the next goes on behind it. */
const MOST_BYTES = 2 * 1_024 * 1_024
/** So many rows are read at once. A page of the largest messages would take a gigabyte before the first was counted. */
const STEP = 32

/**
 * Reads as many rows as are wanted and are not too much for one answer, together with those that are in it already. One is
 * always in an answer.
 */
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

/** As JSON, where what cannot be seen is six times as large. Parts are in the text as well, and take about as much again. */
function sizeOf({ text, parts }: ActivityRow): number {
  return bytesOf(JSON.stringify(text)) * (parts.length > 0 ? 2 : 1)
}

/** So many rows are read ahead of the follower. */
const PAGE = 20
/** It looks by itself this often even if nothing was heard. */
const LOOK_MS = 60_000

/**
 * Every row of a log behind a place, as they come, until the signal is given or everything ends. Nothing is read before it is
 * wanted, so that a reader who is slow costs a page and no more.
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
      { workspaceId, waitMs: LOOK_MS, signal },
      async (): Promise<Look<readonly ActivityRow[]>> => {
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

interface HistoryQuery {
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
      // A reader that goes on with the time of the oldest row must not miss others of the same moment.
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
