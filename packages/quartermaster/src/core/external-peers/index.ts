export {
  createExternalPeers,
  type ExternalPeers,
  externalPeerHandlers,
  type PeerTrouble,
} from './external-peers.ts'
export { MOST_FILE_BYTES } from './follow-stream.ts'
export { createOutboundWorker, type OutboundWorker } from './outbound-worker.ts'
export * from './ports.ts'
export { createOutbox, type Outbox } from './task-lease.ts'
export { plainLine } from './wording.ts'
