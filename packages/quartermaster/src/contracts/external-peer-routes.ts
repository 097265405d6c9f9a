import { z } from 'zod'
import { type ApiRoute, none, oneWorkspace, within } from './api-route.ts'
import { ExternalPeerFacts, NewExternalPeer } from './external-peer.ts'

/** A2A agents elsewhere that workspaces give tasks to. */
export const EXTERNAL_PEER_ROUTES = {
  listExternalPeers: {
    method: 'GET',
    path: '/external-peers',
    summary: 'The A2A agents elsewhere that are peers here.',
    who: ['owner', 'person'],
    params: none,
    query: within,
    output: z.object({ peers: z.array(ExternalPeerFacts) }),
    errors: ['NAME_UNKNOWN'],
  },
  addExternalPeer: {
    method: 'POST',
    path: '/external-peers',
    summary: 'Makes an A2A agent elsewhere a peer, once its card was had and is one of A2A 1.0.',
    who: ['owner'],
    params: none,
    query: within,
    body: NewExternalPeer,
    output: ExternalPeerFacts,
    status: 201,
    errors: ['NAME_UNKNOWN', 'NAME_TAKEN', 'EDIT_CONFLICT', 'DEPENDENCY_UNAVAILABLE'],
  },
  showExternalPeer: {
    method: 'GET',
    path: '/external-peers/{id}',
    summary: 'One of them, with what its card says.',
    who: ['owner', 'person'],
    params: oneWorkspace,
    query: within,
    output: ExternalPeerFacts,
    errors: ['NAME_UNKNOWN'],
  },
  refreshExternalPeer: {
    method: 'POST',
    path: '/external-peers/{id}/refresh',
    summary: 'Has its card looked at now, which happens by itself every ten minutes.',
    who: ['owner'],
    params: oneWorkspace,
    query: within,
    output: ExternalPeerFacts,
    errors: ['NAME_UNKNOWN'],
  },
  removeExternalPeer: {
    method: 'DELETE',
    path: '/external-peers/{id}',
    summary: 'Takes it out: its open tasks end as failed, and are cancelled there as far as it answers.',
    who: ['owner'],
    params: oneWorkspace,
    query: within,
    output: ExternalPeerFacts,
    errors: ['NAME_UNKNOWN', 'EDIT_CONFLICT'],
  },
} as const satisfies Record<string, ApiRoute>
