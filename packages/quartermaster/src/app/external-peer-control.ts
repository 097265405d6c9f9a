import { type Control, DEFAULT_ORGANISATION } from '../contracts/index.ts'
import type { ExternalPeers } from '../core/external-peers/index.ts'
import type { Organisation } from '../core/organisation/index.ts'

/** The part of the control that is about A2A agents elsewhere. */
export type ExternalPeerControl = Pick<
  Control,
  'externalPeers' | 'externalPeer' | 'addExternalPeer' | 'refreshExternalPeer' | 'removeExternalPeer'
>

export interface ExternalPeerControlDeps {
  peers(): Promise<ExternalPeers>
  organisation(): Promise<Organisation>
}

/** Answers for the owner of the data folder, in whichever organisation they mean. */
export function createExternalPeerControl(open: ExternalPeerControlDeps): ExternalPeerControl {
  async function within(named: string | undefined) {
    const organisation = named ?? DEFAULT_ORGANISATION
    await (await open.organisation()).organisations.expect(organisation)
    return { peers: await open.peers(), organisation }
  }

  return {
    async externalPeers({ organisation: named }) {
      const { peers, organisation } = await within(named)
      return peers.list(organisation)
    },
    async externalPeer({ id, organisation: named }) {
      const { peers, organisation } = await within(named)
      return peers.show(organisation, id)
    },
    async addExternalPeer({ organisation: named, ...request }) {
      const { peers, organisation } = await within(named)
      return peers.add(organisation, request)
    },
    async refreshExternalPeer({ id, organisation: named }) {
      const { peers, organisation } = await within(named)
      return peers.refresh(organisation, id)
    },
    async removeExternalPeer({ id, organisation: named }) {
      const { peers, organisation } = await within(named)
      return peers.remove(organisation, id)
    },
  }
}
