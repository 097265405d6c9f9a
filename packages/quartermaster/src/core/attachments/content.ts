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

/** An attachment as its readers are shown it. */
export function attachmentFacts({ id, name, mediaType, size, sha256 }: AttachmentRow): AttachmentFacts {
  return { id, name, mediaType, size, sha256 }
}

/** An attachment as a message keeps it. */
export function messageAttachment({ id, name, mediaType, size }: AttachmentRow): MessageAttachment {
  return { id, name, mediaType, size }
}

/** An attachment of a message as people are shown it. */
export function attachmentChip({ id, name, mediaType, size }: MessageAttachment): AttachmentChip {
  return { id, name, mediaType, size, url: `/api/v1/attachments/${id}/content` }
}

/** The error for an unknown attachment, and for one that the reader may not see: the two are the same. */
function unknownAttachment(id: string): AppError {
  return new AppError(
    'NAME_UNKNOWN',
    `There is no attachment "${id}". One that no message has is removed after a while; upload the file again.`,
  )
}

/** What one row of content holds: few enough rows for a large file, and small enough to be in memory many times over. */
const PIECE_BYTES = 256 * 1024

/** The same bytes in pieces of one size; the last may be shorter. There is always a last one, if need be an empty one. */
export async function* inPieces(
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ readonly bytes: Uint8Array; readonly isLast: boolean }> {
  let piece = new Uint8Array(PIECE_BYTES)
  let filled = 0
  for await (const bytes of content) {
    for (let at = 0; at < bytes.length; ) {
      // Only now is it known that there is more behind it.
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

/** The id of a piece: each place of a content is taken once. */
export function pieceId(blobId: string, position: number): string {
  return `${blobId}.${position}`
}

/** What is kept of a content, piece by piece. One that is missing is `undefined`, and the last. */
async function* keptPieces(
  store: Store,
  { blobId, size }: { readonly blobId: string; readonly size: number },
): AsyncGenerator<Uint8Array | undefined> {
  let read = 0
  for (let position = 0; position === 0 || read < size; position++) {
    const piece = await store.get('chunks', pieceId(blobId, position))
    yield piece?.bytes
    if (!piece) return
    read += piece.bytes.length
  }
}

interface KeptContent {
  readonly blobId: string
  readonly size: number
  readonly sha256: string
}

/** Whether all of it is there, as it was handed in. */
export async function isWhole(store: Store, openDigest: () => RunningDigest, content: KeptContent): Promise<boolean> {
  const digest = openDigest()
  for await (const piece of keptPieces(store, content)) {
    if (!piece) return false
    digest.add(piece)
  }
  return digest.end() === content.sha256
}

interface OutletDeps {
  readonly store: Store
  readonly log: Log
  openDigest(): RunningDigest
}

/** Gives files out to those who may have them. */
export interface Outlet {
  /** Throws `NAME_UNKNOWN` for what is not there, and for what is not theirs in the same words. */
  find(reader: AttachmentReader, id: string): Promise<AttachmentRow>
  open(reader: AttachmentReader, id: string): Promise<OpenedAttachment>
}

export function createOutlet({ store, log, openDigest }: OutletDeps): Outlet {
  async function find(reader: AttachmentReader, id: string): Promise<AttachmentRow> {
    const row = await store.get('attachments', id)
    if (!row || !(await mayRead(reader, row))) throw unknownAttachment(id)
    return row
  }

  /** The uploader, and workspaces that have a message with it; persons and the owner see what all of theirs see. */
  async function mayRead({ organisation, workspaceId }: AttachmentReader, row: AttachmentRow): Promise<boolean> {
    if (row.organisation !== organisation) return false
    if (workspaceId === null || row.workspaceId === workspaceId) return true
    return (await store.count('attachmentuses', { organisation, attachmentId: row.id, workspaceId })) > 0
  }

  /** One piece is held back until the next is there, so that the last goes out only when all of it has proved right. */
  async function* contentOf(row: AttachmentRow): AsyncGenerator<Uint8Array> {
    const digest = openDigest()
    let held: Uint8Array | undefined
    let size = 0
    for await (const piece of keptPieces(store, row)) {
      if (!piece) throw await missing(row, size)
      if (held) yield held
      held = piece
      size += held.length
      digest.add(held)
    }
    if (size !== row.size || digest.end() !== row.sha256) throw damaged(row, 'it is not what was handed in')
    if (held && held.length > 0) yield held
  }

  /** Content is removed when no attachment has it any more, also while it is being read. */
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

/** Hashes what comes piece by piece. */
export interface RunningDigest {
  add(bytes: Uint8Array): void
  /** SHA-256 of all of it, as lower-case hex. To be called once. */
  end(): string
}

/** Which attachments a reader sees: all of the organisation's, or those of one workspace. */
export interface AttachmentReader {
  readonly organisation: string
  /** Null for persons and the owner, who see all. */
  readonly workspaceId: string | null
}

/** A file that is about to be handed in. */
export interface Upload extends AttachmentReader {
  /** The workspace or person that hands it in. */
  readonly by: string
  readonly name: string
  readonly mediaType: string
  /** What was said about its size before it came. */
  readonly announcedSize?: number | undefined
}
