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
    // Nobody resolves these: they are what persons and the platform are called in a log.
    if (OTHERS.test(named)) return named
    const row = await workspaces.seek(owner.organisation, named)
    if (row?.id === owner.id)
      throw new AppError('INPUT_INVALID', 'This is your own workspace. Nobody talks to themselves; name a peer.')
    if (row && mayReach(owner, row)) return row.id
    // What was said with somebody stays, also when they are out of reach by now; and a person has a name as well.
    for (const id of [row?.id ?? named, `person:${named}`]) if (await isInLog(owner, id)) return id
    throw await noPeer(workspaces, owner, named)
  }
}

const OTHERS = /^(?:person:.+|people|platform)$/s
