import { AppError, type WorkspaceRow } from '../../contracts/index.ts'
import { mayReach, noPeer, type Organisation } from '../organisation/index.ts'
import type { Store } from '../store/index.ts'

export interface LogPeersDeps {
  readonly store: Store
  readonly organisation: Pick<Organisation, 'workspaces'>
}

/** Finds who is meant by an id or a name: the id that a log knows them by. Throws `PEER_NOT_FOUND`. */
export type FindLogPeer = (owner: WorkspaceRow, idOrName: string) => Promise<string>

export function createLogPeers({ store, organisation: { workspaces } }: LogPeersDeps): FindLogPeer {
  async function isInLog({ id: workspaceId, organisation }: WorkspaceRow, peerId: string): Promise<boolean> {
    const where = { organisation, workspaceId, peerId }
    return (await store.find('activity', { where, limit: 1, columns: ['id'] })).length > 0
  }

  return async (owner, named) => {
    const row = await workspaces.seek(owner.organisation, named)
    const isOwn = row?.id === owner.id
    // What was said with somebody stays, also when they are out of reach by now.
    if (row && !isOwn && (mayReach(owner, row) || (await isInLog(owner, row.id)))) return row.id
    if (OTHERS.test(named)) return named
    if (isOwn)
      throw new AppError('INPUT_INVALID', 'This is your own workspace. Nobody talks to themselves; name a peer.')
    // A person has a name as well.
    for (const id of [named, `person:${named}`]) if (await isInLog(owner, id)) return id
    throw await noPeer(workspaces, owner, named)
  }
}

/** What persons and the platform are called in a log. None of them is a word that nobody may be named: a peer goes before them. */
const OTHERS = /^(?:person:.+|people|platform)$/s
