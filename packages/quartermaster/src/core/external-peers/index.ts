export {
  type ActivePeer,
  createExternalPeers,
  type ExternalPeers,
  type ExternalPeersDeps,
  externalPeerHandlers,
  type PeersStatus,
  type PeerTrouble,
} from './external-peers.ts'
export { MOST_FILE_BYTES } from './follow-stream.ts'
export { createOutboundWorker, type OutboundWorker, type OutboundWorkerDeps } from './outbound-worker.ts'
export * from './ports.ts'
export { createOutbox, type Outbox, type OutboxDeps } from './task-lease.ts'
export { plainLine } from './wording.ts'
