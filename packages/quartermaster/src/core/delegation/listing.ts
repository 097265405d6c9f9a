import {
  AppError,
  DELEGATION_PAGE,
  type DelegationPage,
  type DelegationState,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type Organisation } from '../organisation/index.ts'
import { type Store } from '../store/index.ts'
import { delegationFacts, type Ledger, LISTED, type ListedRow } from './ledger.ts'

/** Filters of a list of delegations. */
export interface ListQuery {
  readonly organisation: string
  /** Only tasks of this workspace in this role; both roles by default. */
  readonly workspace?: WorkspaceRow | undefined
  readonly as?: 'asker' | 'peer' | undefined
  readonly states?: readonly DelegationState[] | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Lists delegations in pages, newest first. Throws `CURSOR_GONE` for a row that was deleted. */
export function createListing({
  store,
  ledger,
  organisation: { workspaces, presence },
}: {
  store: Store
  ledger: Pick<Ledger, 'get'>
  organisation: Pick<Organisation, 'workspaces' | 'presence'>
}): (query: ListQuery) => Promise<DelegationPage> {
  /** The row of a cursor, if the list may contain it. */
  async function positionOf(
    organisation: string,
    id: string,
    workspace?: WorkspaceRow,
  ): Promise<readonly (string | number)[]> {
    const row = await ledger.get(organisation, id)
    if (row && (!workspace || workspace.id === row.fromId || workspace.id === row.toId)) return [row.createdAt, row.id]
    throw new AppError('CURSOR_GONE', 'The task of this cursor was deleted. Start again without a cursor.')
  }

  return async ({ organisation, workspace, as, states, limit = DELEGATION_PAGE.usual, cursor }) => {
    const after = cursor === undefined ? undefined : await positionOf(organisation, cursor, workspace)
    const base = { organisation, ...(states && { state: { in: states } }) }
    const wheres = workspace ? inRoles(workspace, as).map(role => ({ ...base, ...role })) : [base]
    const order = { by: ['createdAt', 'id'] as const, direction: 'descending' } as const
    const query = { order, columns: LISTED, limit: limit + 1, ...(after && { after }) }
    const pages = await Promise.all(wheres.map(where => store.find('delegations', { ...query, where })))
    const rows = pages.flat().toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
    const shown = rows.slice(0, limit)
    const delegations = await Promise.all(
      shown.map(async row => delegationFacts(row, await workspaces.find(organisation, row.toId), presence)),
    )
    return { delegations, nextCursor: rows.length > limit ? (shown.at(-1)?.id ?? null) : null }
  }
}

function inRoles({ id }: WorkspaceRow, as: ListQuery['as']): readonly { fromId?: string; toId?: string }[] {
  return [...(as === 'peer' ? [] : [{ fromId: id }]), ...(as === 'asker' ? [] : [{ toId: id }])]
}

/** Filters of the tasks that one workspace gave another. */
export interface BetweenQuery {
  readonly asker: WorkspaceRow
  readonly peer: WorkspaceRow
  readonly states?: readonly DelegationState[] | undefined
  readonly conversationId?: string | undefined
  /** Only tasks changed since. */
  readonly changedSince?: number | undefined
  readonly limit: number
  /** The `next` of the previous page. */
  readonly after?: string | undefined
}

export interface BetweenPage {
  readonly rows: readonly ListedRow[]
  /** The number on all pages. */
  readonly total: number
  /** The cursor of the next page; absent on the last. */
  readonly next?: string
}

/** Pages by time of the last change. A task that changes while pages are read moves to the front and is not lost. */
export function createBetween(store: Store): (query: BetweenQuery) => Promise<BetweenPage> {
  return async ({ asker, peer, states, conversationId, changedSince, limit, after }) => {
    const where = {
      organisation: asker.organisation,
      fromId: asker.id,
      toId: peer.id,
      ...(states && { state: { in: states } }),
      ...(conversationId !== undefined && { conversationId }),
      ...(changedSince !== undefined && { updatedAt: { atLeast: changedSince } }),
    }
    const order = { by: ['updatedAt', 'id'] as const, direction: 'descending' } as const
    const query = {
      where,
      order,
      columns: LISTED,
      limit: limit + 1,
      ...(after !== undefined && { after: parseBetweenCursor(after) }),
    }
    const [found, total] = await Promise.all([store.find('delegations', query), store.count('delegations', where)])
    const rows = found.slice(0, limit)
    const last = rows.at(-1)
    return { rows, total, ...(found.length > limit && last && { next: betweenCursor(last) }) }
  }
}

/** The cursor after a row. */
export function betweenCursor({ updatedAt, id }: Pick<ListedRow, 'updatedAt' | 'id'>): string {
  return `${updatedAt}.${id}`
}

function parseBetweenCursor(text: string): readonly [number, string] {
  const [, time, id] = /^(\d{1,15})\.([\w-]{1,128})$/.exec(text) ?? []
  if (time !== undefined && id !== undefined) return [Number(time), id]
  throw new AppError('INPUT_INVALID', 'This cursor is not valid. Start again without a cursor.')
}
