import { AppError, type DelegationState, type WorkspaceRow } from '../../contracts/index.ts'
import type { Store } from '../store/index.ts'
import { LISTED, type ListedRow } from './facts.ts'

/** Which of the tasks that one workspace has given another. */
export interface BetweenQuery {
  readonly asker: WorkspaceRow
  readonly peer: WorkspaceRow
  readonly states?: readonly DelegationState[] | undefined
  readonly conversationId?: string | undefined
  /** Only what has changed from then on. */
  readonly changedSince?: number | undefined
  readonly limit: number
  /** Where the page before ended: its `next`. */
  readonly after?: string | undefined
}

export interface BetweenPage {
  readonly rows: readonly ListedRow[]
  /** How many there are on all pages. */
  readonly total: number
  /** What leads to the next page; absent with the last. */
  readonly next?: string
}

/** Reads by the time of the last change. What changes while somebody turns pages comes to the front, and is not lost. */
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
      ...(after !== undefined && { after: placeIn(after) }),
    }
    const [found, total] = await Promise.all([store.find('delegations', query), store.count('delegations', where)])
    const rows = found.slice(0, limit)
    const last = rows.at(-1)
    return { rows, total, ...(found.length > limit && last && { next: placeBehind(last) }) }
  }
}

/** What leads behind a row. */
export function placeBehind({ updatedAt, id }: Pick<ListedRow, 'updatedAt' | 'id'>): string {
  return `${updatedAt}.${id}`
}

function placeIn(text: string): readonly [number, string] {
  const [, time, id] = /^(\d{1,15})\.([\w-]{1,128})$/.exec(text) ?? []
  if (time !== undefined && id !== undefined) return [Number(time), id]
  throw new AppError('INPUT_INVALID', 'This is not the place that a page has ended at. Begin again without it.')
}
