import { z } from 'zod'
import { AttachmentName, MediaType } from './attachment.ts'
import { Bytes, maybe, place, RowId, RowTime, Sha256 } from './row-parts.ts'

/** A file that somebody has handed in. Its `workspace` is the name of the workspace or person that did; `owner` is the owner. */
export const AttachmentRow = z.object({
  ...place,
  /** The workspace that handed it in; null when a person or the owner did. */
  workspaceId: maybe(RowId),
  blobId: RowId,
  name: AttachmentName,
  mediaType: MediaType,
  size: z.number().int().nonnegative(),
  sha256: Sha256,
  createdAt: RowTime,
  /** Since when no message has it; null while one does. */
  looseSince: maybe(RowTime),
})
export type AttachmentRow = z.infer<typeof AttachmentRow>

/** Content, once for each organisation: that another has the same must show nowhere. */
export const BlobRow = z.object({
  ...place,
  /** `ended` while its pieces are removed. */
  state: z.enum(['partial', 'complete', 'ended']),
  size: z.number().int().nonnegative(),
  /** What it is found by; null until all of it is there, and when it has ended. */
  sha256: maybe(Sha256),
  createdAt: RowTime,
})
export type BlobRow = z.infer<typeof BlobRow>

/** A piece of content. Its id is that of the content and its place, so that each place is taken once. */
export const ChunkRow = z.object({
  ...place,
  blobId: RowId,
  position: z.number().int().nonnegative(),
  bytes: Bytes,
})
export type ChunkRow = z.infer<typeof ChunkRow>

/** That a row of a workspace's log has an attachment: for as long as it does, the attachment stays, and the workspace reads it. */
export const AttachmentUseRow = z.object({
  ...place,
  attachmentId: RowId,
  workspaceId: RowId,
  activityId: RowId,
})
export type AttachmentUseRow = z.infer<typeof AttachmentUseRow>
