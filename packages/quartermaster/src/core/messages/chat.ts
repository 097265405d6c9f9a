import type { ActivityRow } from '../../contracts/index.ts'
import type { Store } from '../store/index.ts'
import type { LogOwner } from './activity-log.ts'
import { chatOf } from './draft.ts'
import { rowsWithin } from './rows-within.ts'

/** What a workspace and its people have said to each other. All of its people see all of it. */
export interface Chat {
  /** The newest page, or the one before a place; both sides, the oldest first. */
  read(workspace: LogOwner, query: ChatQuery): Promise<ChatRows>
}

export interface ChatQuery {
  readonly limit: number
  /** The `before` of a page. */
  readonly before?: number | undefined
}

export interface ChatRows {
  readonly rows: readonly ActivityRow[]
  /** What leads to the page before this one; absent when there is none. */
  readonly before?: number
}

export function createChat({ store }: { readonly store: Store }): Chat {
  return {
    async read({ id: workspaceId, organisation }, { limit, before }) {
      // A peer may choose what its conversation is called, so that the name alone makes nothing the word of a person.
      const where = { organisation, workspaceId, conversationId: chatOf(workspaceId), peerKind: 'person' as const }
      const order = { by: ['sequence'] as const, direction: 'descending' as const }
      const { rows, more } = await rowsWithin(limit, (last, wanted) => {
        const from = last?.sequence ?? before
        return store.find('activity', { where, order, limit: wanted, ...(from !== undefined && { after: [from] }) })
      })
      const first = rows.at(-1)
      return { rows: rows.toReversed(), ...(first && more && { before: first.sequence }) }
    },
  }
}
