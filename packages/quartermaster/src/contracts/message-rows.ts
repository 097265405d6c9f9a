import { z } from 'zod'
import { ActivityType, Direction, MessageAttachment, MessageKind, MessagePart, PeerKind } from './message.ts'
import { maybe, place, RowId, RowTime, Sha256 } from './row-parts.ts'

/** One row of a workspace's log. Its `workspace` is the name of the workspace whose log it is. It is never changed. */
export const ActivityRow = z.object({
  ...place,
  workspaceId: RowId,
  /** 1, 2, 3 … in this log. Numbers never come again, because the row with the highest is never forgotten. */
  sequence: z.number().int().positive(),
  type: ActivityType,
  kind: MessageKind,
  direction: Direction,
  peerKind: PeerKind,
  /** The id of a workspace, or `person:NAME`. */
  peerId: RowId,
  peerName: z.string().max(200),
  conversationId: RowId,
  /** The same in the logs of both sides. */
  messageId: RowId,
  /** The row of this log that it answers. */
  inReplyTo: maybe(RowId),
  /** What it says, for whoever reads only this. Never empty. */
  text: z.string(),
  parts: z.array(MessagePart).default([]),
  attachments: z.array(MessageAttachment).default([]),
  delegationId: maybe(RowId),
  /** What a repeat is known by: a digest of who sent it and of the sender's key. In one of the two rows of a message. */
  sentKey: maybe(Sha256),
  /** What was sent under that key. */
  bodyDigest: maybe(Sha256),
  createdAt: RowTime,
  /** What whoever sent it calls it, where they have a name for it. In their own row alone. */
  senderMessageId: maybe(z.string().max(1_000)),
})
export type ActivityRow = z.infer<typeof ActivityRow>

/** A message that is not acknowledged yet. Its id is that of the row in the log. */
export const InboxRow = z.object({
  ...place,
  workspaceId: RowId,
  /** As in the log. */
  sequence: z.number().int().positive(),
  conversationId: RowId,
  /** Which reader has it; others get nothing of the conversation until then. */
  leaseOwner: maybe(z.string().max(200)),
  leaseUntil: maybe(RowTime),
})
export type InboxRow = z.infer<typeof InboxRow>
