import { AppError, type WorkspaceRow } from '../../contracts/index.ts'
import { didYouMean } from '../kernel/index.ts'
import { mayReach } from './access.ts'
import type { Workspaces } from './workspaces.ts'

/** A workspace and one that it can reach, by what counts now. */
export interface ReachedPeer {
  readonly self: WorkspaceRow
  readonly peer: WorkspaceRow
}

/** What cannot be reached is answered like what is not there. Throws `PEER_NOT_FOUND`, and `INPUT_INVALID` for itself. */
export async function reachedPeer(
  workspaces: Pick<Workspaces, 'find' | 'seek' | 'reachable'>,
  from: WorkspaceRow,
  { to, alone }: { readonly to: string /** What nobody does with themselves. */; readonly alone: string },
): Promise<ReachedPeer> {
  const self = (await workspaces.find(from.organisation, from.id)) ?? from
  const peer = await workspaces.seek(from.organisation, to)
  if (!peer || !mayReach(self, peer)) throw await noPeer(workspaces, self, to)
  if (peer.id === self.id) throw new AppError('INPUT_INVALID', `This is your own workspace. ${alone}; name a peer.`)
  return { self, peer }
}

/** The error for whom a workspace cannot reach. Only those that it can reach are suggested. */
export async function noPeer(
  workspaces: Pick<Workspaces, 'reachable'>,
  self: WorkspaceRow,
  to: string,
): Promise<AppError> {
  const others = (await workspaces.reachable(self)).filter(({ id }) => id !== self.id)
  const named = to.length > 100 ? `${to.slice(0, 100)}…` : to
  const names = others.map(({ workspace }) => workspace)
  return new AppError(
    'PEER_NOT_FOUND',
    `There is no peer "${named}" that this workspace can reach.${didYouMean(to.slice(0, 128), names)} List your peers and take one of those.`,
  )
}
