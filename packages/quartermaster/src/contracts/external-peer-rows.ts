import { z } from 'zod'
import { PeerBinding } from './external-peer.ts'
import { maybe, place, RowId, RowTime } from './row-parts.ts'

/** An A2A agent elsewhere. Its id is that of its workspace, its `workspace` that one's name. */
export const ExternalPeerRow = z.object({
  ...place,
  cardUrl: z.string().max(2_048),
  /** Hosts inside this network that its card may name. */
  hosts: z.array(z.string()).default([]),
  /** The name of the secret that lets us in there. */
  secret: maybe(z.string().max(128)),
  /** The header that it is sent in; as a bearer token when null. */
  header: maybe(z.string().max(64)),
  /** From its card: where tasks are sent, and how. */
  url: z.string().max(2_048),
  binding: PeerBinding,
  tenant: maybe(z.string().max(256)),
  streaming: z.boolean(),
  checkedAt: RowTime,
  nextCheckAt: RowTime,
  /** Why its card could not be had at the last look. */
  error: maybe(z.string().max(1_000)),
  /** One more with every change. */
  version: z.number().int().positive(),
})
export type ExternalPeerRow = z.infer<typeof ExternalPeerRow>

/** A delegation that is on its way to an A2A agent elsewhere, or being done there. Its id is the delegation's. */
export const OutgoingTaskRow = z.object({
  ...place,
  peerId: RowId,
  /** What the task is called there; null until it has answered. */
  remoteId: maybe(z.string().max(1_000)),
  contextId: maybe(z.string().max(1_000)),
  /** How often in a row it could not be reached. */
  attempts: z.number().int().nonnegative(),
  nextAt: RowTime,
  /** Why it could not be reached the last time. */
  trouble: maybe(z.string().max(1_000)),
  /** Which process looks after it, and until when it counts as doing so. */
  leaseOwner: maybe(RowId),
  leaseUntil: maybe(RowTime),
  /** One more with every change. */
  version: z.number().int().positive(),
})
export type OutgoingTaskRow = z.infer<typeof OutgoingTaskRow>
