import { z } from 'zod'
import { type ApiRoute, none, one, within } from './api-route.ts'
import { Bytes, maybe, RowId, RowTime, rowHead, Sha256, storableText } from './primitives.ts'
import { ATTACHMENT_ID, MOST_ATTACHMENTS } from './toolbox.ts'

/** The limit of common file systems. */
export const LONGEST_ATTACHMENT_NAME = 255

/**
 * The display name of a file: any characters, and never a path. Where it is shown, invisible characters are made visible; as a
 * file name, unsafe characters are replaced.
 */
export const AttachmentName = storableText().refine(
  name => name.length > 0 && Array.from(name).length <= LONGEST_ATTACHMENT_NAME,
  { error: `must have 1 to ${LONGEST_ATTACHMENT_NAME} characters` },
)

/** `text/plain`: the media type that the uploader claims (RFC 6838 §4.2), without parameters. It is never trusted. */
export const MediaType = z
  .string()
  .max(255)
  .regex(/^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/, 'must look like "text/plain", in lower case')

export const AttachmentId = z.string().regex(ATTACHMENT_ID, 'must be the id of an attachment: "att_…"')

/** The attachments of a new message. */
export const AttachmentIds = z.array(AttachmentId).max(MOST_ATTACHMENTS)

/** Marks a list of files in the schema of a tool's input. */
export const NAMES_ATTACHMENTS = 'x-quartermaster-attachments'

/**
 * The files of a message as an agent names them: by id, or by path where a bridge beside the agent can open them. The bridge
 * finds these inputs by the mark.
 */
export const AttachmentRefs = z
  .array(storableText().min(1).max(4_096))
  .max(MOST_ATTACHMENTS)
  .meta({ [NAMES_ATTACHMENTS]: true })

/** An uploaded file. */
export const AttachmentFacts = z.object({
  id: z.string(),
  name: z.string(),
  mediaType: z.string(),
  size: z.number().int().nonnegative().describe('In bytes.'),
  sha256: z.string().describe('SHA-256 of the content, in lower-case hex.'),
})
export type AttachmentFacts = z.infer<typeof AttachmentFacts>

/** An attachment as a message shows it. */
export const AttachmentChip = AttachmentFacts.pick({ id: true, name: true, mediaType: true, size: true }).extend({
  url: z.string().describe('The path of the content on this server.'),
})
export type AttachmentChip = z.infer<typeof AttachmentChip>

/** An uploaded file. Its `workspace` is the name of the workspace or person that uploaded it; `owner` is the owner. */
export const AttachmentRow = z.object({
  ...rowHead,
  /** The uploading workspace; null when a person or the owner uploaded it. */
  workspaceId: maybe(RowId),
  blobId: RowId,
  name: AttachmentName,
  mediaType: MediaType,
  size: z.number().int().nonnegative(),
  sha256: Sha256,
  createdAt: RowTime,
  /** Since when no message uses it; null while one does. */
  looseSince: maybe(RowTime),
})
export type AttachmentRow = z.infer<typeof AttachmentRow>

/** File content, stored once per organisation, so that nothing shows that another organisation has the same. */
export const BlobRow = z.object({
  ...rowHead,
  /** `ended` while its chunks are deleted. */
  state: z.enum(['partial', 'complete', 'ended']),
  size: z.number().int().nonnegative(),
  /** Null until the content is complete, and when it has ended. */
  sha256: maybe(Sha256),
  createdAt: RowTime,
})
export type BlobRow = z.infer<typeof BlobRow>

/** A chunk of content. Its id is made of the content's id and its position, so that each position is written once. */
export const ChunkRow = z.object({
  ...rowHead,
  blobId: RowId,
  position: z.number().int().nonnegative(),
  bytes: Bytes,
})

/** A use of an attachment by a row of a workspace's log: it keeps the attachment, and lets the workspace read it. */
export const AttachmentUseRow = z.object({
  ...rowHead,
  attachmentId: RowId,
  workspaceId: RowId,
  activityId: RowId,
})

/** Files that go with messages. */
export const ATTACHMENT_ROUTES = {
  uploadAttachment: {
    method: 'POST',
    path: '/attachments',
    summary: 'Uploads a file: the body is its content. A file that no message uses is deleted after a while.',
    who: ['owner', 'person', 'workspace'],
    scope: 'messages',
    wire: 'upload',
    params: none,
    query: within.extend({
      name: z.string().optional().describe('The name of the file, unless Content-Disposition has it.'),
    }),
    output: AttachmentFacts,
    status: 201,
    errors: ['LIMIT_EXCEEDED', 'CANCELLED', 'STORE_BUSY'],
  },
  showAttachment: {
    method: 'GET',
    path: '/attachments/{id}',
    summary: 'Facts about a file. A workspace sees its own uploads and the files of its messages.',
    who: ['owner', 'person', 'workspace'],
    scope: 'messages',
    params: one,
    query: within,
    output: AttachmentFacts,
    errors: ['NAME_UNKNOWN'],
  },
  attachmentContent: {
    method: 'GET',
    path: '/attachments/{id}/content',
    summary: 'The content of a file. The download fails when the content is damaged.',
    who: ['owner', 'person', 'workspace'],
    scope: 'messages',
    wire: 'download',
    params: one,
    query: within,
    output: z.unknown(),
    errors: ['NAME_UNKNOWN'],
  },
} as const satisfies Record<string, ApiRoute>
