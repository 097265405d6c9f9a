import type { ActivityRow, DelegationRow } from '../../contracts/index.ts'
import { remove, type Store, type Write } from '../store/index.ts'

const MOST = 100

/** What the asker has said since about its task, and the agent has not been told: it waits in the inbox of the agent's workspace. */
export async function askerWords(store: Store, task: DelegationRow): Promise<ActivityRow[]> {
  const { id, organisation, toId: workspaceId, conversationId } = task
  const where = { organisation, workspaceId }
  const waiting = await store.find('inbox', {
    where,
    order: { by: ['sequence'] },
    limit: 1_000,
    columns: ['id', 'conversationId'],
  })
  const ids = waiting.filter(one => one.conversationId === conversationId).map(one => one.id)
  if (ids.length === 0) return []
  const rows = await store.find('activity', { where: { id: { in: ids.slice(0, MOST) } }, limit: MOST })
  return rows.filter(({ delegationId }) => delegationId === id).toSorted((a, b) => a.sequence - b.sequence)
}

/** What takes them out of there: nobody is told them any more. */
export function withoutWords(words: readonly ActivityRow[]): Write[] {
  return words.map(({ organisation, workspaceId, id }) =>
    remove('inbox', { where: { organisation, workspaceId, id }, rows: 'any' }),
  )
}
