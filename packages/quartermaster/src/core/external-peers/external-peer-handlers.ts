import type { EXTERNAL_PEER_ROUTES } from '../../contracts/index.ts'
import type { Handlers } from '../organisation/index.ts'
import type { ExternalPeers } from './external-peers.ts'

/** How everything about A2A agents elsewhere is answered over the API. */
export function externalPeerHandlers(
  peers: Pick<ExternalPeers, 'list' | 'show' | 'add' | 'refresh' | 'remove'>,
): Handlers<keyof typeof EXTERNAL_PEER_ROUTES> {
  return {
    listExternalPeers: async ({ organisation }) => ({ peers: await peers.list(organisation) }),
    addExternalPeer: ({ organisation }, { body }) => peers.add(organisation, body),
    showExternalPeer: ({ organisation }, { params: { id } }) => peers.show(organisation, id),
    refreshExternalPeer: ({ organisation }, { params: { id } }) => peers.refresh(organisation, id),
    removeExternalPeer: ({ organisation }, { params: { id } }) => peers.remove(organisation, id),
  }
}
