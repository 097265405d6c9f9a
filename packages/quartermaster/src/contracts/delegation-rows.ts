import { z } from 'zod'
import { DelegationResult, DelegationState } from './delegation.ts'
import { MessageAttachment, MessagePart } from './message.ts'
import { maybe, place, RowId, RowTime, Sha256 } from './row-parts.ts'

/** A task that one workspace gave another. Its `workspace` is the name of the one that asked; its id is the task's. */
export const DelegationRow = z.object({
  ...place,
  fromId: RowId,
  fromName: z.string().max(200),
  toId: RowId,
  toName: z.string().max(200),
  state: DelegationState,
  task: z.string(),
  attachments: z.array(MessageAttachment).default([]),
  /** What a repeat is known by: a digest of who asked and of its key. */
  askKey: maybe(Sha256),
  /** What was asked under that key. */
  bodyDigest: maybe(Sha256),
  conversationId: RowId,
  /** The delegation that it was given away for. */
  parentId: maybe(RowId),
  hops: z.number().int().positive(),
  /** The workspaces that have passed it on, the first one first, the asker last. */
  chain: z.array(z.string()),
  deadlineAt: RowTime,
  /** The deadline while it is open, so that what is due is found among the open ones. */
  dueAt: maybe(RowTime),
  /** Which of the peer's places it takes while it is pending or in progress. No two of a peer have the same. */
  slot: maybe(z.number().int().positive()),
  /** The message in the logs of both sides. */
  messageId: RowId,
  /** The message's row in the peer's log. */
  activityId: RowId,
  result: maybe(DelegationResult),
  error: maybe(z.string()),
  progress: maybe(z.string()),
  progressAt: maybe(RowTime),
  createdAt: RowTime,
  updatedAt: RowTime,
  startedAt: maybe(RowTime),
  endedAt: maybe(RowTime),
  /** The row of the asker's log that told it of the end. */
  noticeId: maybe(RowId),
  /** One more with every change: whoever changes it says which one it has seen. */
  version: z.number().int().positive(),
  /** What the task came in, where that was not one text: its words are the text of these. */
  parts: maybe(z.array(MessagePart)),
})
export type DelegationRow = z.infer<typeof DelegationRow>
