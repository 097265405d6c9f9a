import type { PageWish, PeerPage, WorkspaceRow } from '../../contracts/index.ts'
import { relationOf } from './access.ts'
import { peerFacts } from './facts.ts'
import type { Organisation } from './organisation.ts'
import { pageOf } from './page-of.ts'

/** Those that a workspace can reach, itself left out. */
export async function peersOf(
  { workspaces, presence }: Pick<Organisation, 'workspaces' | 'presence'>,
  from: WorkspaceRow,
  page: PageWish,
): Promise<PeerPage> {
  const others = (await workspaces.reachable(from)).filter(({ id }) => id !== from.id)
  const { items, nextCursor } = pageOf(others, page)
  const peers = items.flatMap(row => {
    const relation = relationOf(from, row)
    return relation ? [peerFacts(row, relation, presence)] : []
  })
  return others.length > 0 ? { peers, nextCursor } : { peers, nextCursor, reason: NOBODY }
}

const NOBODY =
  'There is nobody above, beside or directly below this workspace. The owner gives others a place: quartermaster workspaces create'
