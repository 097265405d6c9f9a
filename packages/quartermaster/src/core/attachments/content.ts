import {
  AppError,
  type AttachmentChip,
  type AttachmentFacts,
  type AttachmentRow,
  type MessageAttachment,
  type OpenedAttachment,
} from '../../contracts/index.ts'
import { type Log } from '../kernel/index.ts'
import { type Store } from '../store/index.ts'

/** An attachment as shown to its readers. */
export function attachmentFacts({ id, name, mediaType, size, sha256 }: AttachmentRow): AttachmentFacts {
  return { id, name, mediaType, size, sha256 }
}

/** An attachment as a message stores it. */
export function messageAttachment({ id, name, mediaType, size }: AttachmentRow): MessageAttachment {
  return { id, name, mediaType, size }
}

/** An attachment of a message as people see it. */
export function attachmentChip({ id, name, mediaType, size }: MessageAttachment): AttachmentChip {
  return { id, name, mediaType, size, url: `/api/v1/attachments/${id}/content` }
}

/** The error for an unknown attachment and for one that the reader may not see, in the same words. */
function unknownAttachment(id: string): AppError {
  return new AppError(
    'NAME_UNKNOWN',
    `There is no attachment "${id}". One that no message has is removed after a while; upload the file again.`,
  )
}

/** Size of one content row: few rows for a large file, and small enough for many in memory. */
const PIECE_BYTES = 256 * 1024

/** The same bytes in chunks of one size; the last may be shorter, or empty. */
export async function* inChunks(
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ readonly bytes: Uint8Array; readonly isLast: boolean }> {
  let piece = new Uint8Array(PIECE_BYTES)
  let filled = 0
  for await (const bytes of content) {
    for (let at = 0; at < bytes.length; ) {
      // Only now is it known that more follows.
      if (filled === PIECE_BYTES) {
        yield { bytes: piece, isLast: false }
        piece = new Uint8Array(PIECE_BYTES)
        filled = 0
      }
      const part = bytes.subarray(at, at + PIECE_BYTES - filled)
      piece.set(part, filled)
      filled += part.length
      at += part.length
    }
  }
  yield { bytes: piece.slice(0, filled), isLast: true }
}

/** The id of a chunk: content and index. */
export function chunkId(blobId: string, position: number): string {
  return `${blobId}.${position}`
}

/** The stored chunks of a content. A missing chunk is `undefined` and the last. */
async function* storedChunks(
  store: Store,
  { blobId, size }: { readonly blobId: string; readonly size: number },
): AsyncGenerator<Uint8Array | undefined> {
  let read = 0
  for (let position = 0; position === 0 || read < size; position++) {
    const piece = await store.get('chunks', chunkId(blobId, position))
    yield piece?.bytes
    if (!piece) return
    read += piece.bytes.length
  }
}

/** Whether the stored content is complete and unchanged. */
export async function isIntact(
  store: Store,
  openDigest: () => RunningDigest,
  content: { blobId: string; size: number; sha256: string },
): Promise<boolean> {
  const digest = openDigest()
  for await (const piece of storedChunks(store, content)) {
    if (!piece) return false
    digest.add(piece)
  }
  return digest.end() === content.sha256
}

/** Serves files to those who may read them. */
export interface Downloads {
  /** Throws `NAME_UNKNOWN` for a missing file and, in the same words, for one of others. */
  find(reader: AttachmentReader, id: string): Promise<AttachmentRow>
  open(reader: AttachmentReader, id: string): Promise<OpenedAttachment>
}

export function createDownloads({
  store,
  log,
  openDigest,
}: {
  store: Store
  log: Log
  openDigest(): RunningDigest
}): Downloads {
  async function find(reader: AttachmentReader, id: string): Promise<AttachmentRow> {
    const row = await store.get('attachments', id)
    if (!row || !(await mayRead(reader, row))) throw unknownAttachment(id)
    return row
  }

  /**
   * Readers are the uploader and workspaces that have a message with it; persons and the owner see everything of their
   * organisation.
   */
  async function mayRead({ organisation, workspaceId }: AttachmentReader, row: AttachmentRow): Promise<boolean> {
    if (row.organisation !== organisation) return false
    if (workspaceId === null || row.workspaceId === workspaceId) return true
    return (await store.count('attachmentuses', { organisation, attachmentId: row.id, workspaceId })) > 0
  }

  /** Each chunk is held until the next is read, so that the last goes out only after the whole content was verified. */
  async function* contentOf(row: AttachmentRow): AsyncGenerator<Uint8Array> {
    const digest = openDigest()
    let held: Uint8Array | undefined
    let size = 0
    for await (const piece of storedChunks(store, row)) {
      if (!piece) throw await missing(row, size)
      if (held) yield held
      held = piece
      size += held.length
      digest.add(held)
    }
    if (size !== row.size || digest.end() !== row.sha256) throw damaged(row, 'it is not what was handed in')
    if (held && held.length > 0) yield held
  }

  /** Content is removed when no attachment has it any more, even while it is read. */
  async function missing(row: AttachmentRow, size: number): Promise<AppError> {
    const isThere = (await store.get('attachments', row.id)) !== undefined
    return isThere ? damaged(row, `what comes after ${size} bytes is missing`) : unknownAttachment(row.id)
  }

  function damaged({ id, blobId, organisation }: AttachmentRow, reason: string): AppError {
    log.error('the content of an attachment is damaged', { attachment: id, blob: blobId, organisation, reason })
    const message = `The content of the attachment "${id}" is damaged. Ask the sender to upload it again.`
    return new AppError('INTERNAL', message, { details: { id } })
  }

  return {
    find,
    async open(reader, id) {
      const row = await find(reader, id)
      return { facts: attachmentFacts(row), content: contentOf(row) }
    },
  }
}

export interface RunningDigest {
  add(bytes: Uint8Array): void
  /** SHA-256 of everything, as lower-case hex. Called once. */
  end(): string
}

/** The attachments a reader sees: the organisation's, or one workspace's. */
export interface AttachmentReader {
  readonly organisation: string
  readonly workspaceId: string | null
}

export interface Upload extends AttachmentReader {
  readonly by: string
  readonly name: string
  readonly mediaType: string
  readonly announcedSize?: number | undefined
}
