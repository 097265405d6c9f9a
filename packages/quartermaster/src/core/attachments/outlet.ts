import { AppError, type AttachmentRow, type OpenedAttachment } from '../../contracts/index.ts'
import type { Log } from '../kernel/index.ts'
import type { Store } from '../store/index.ts'
import { attachmentFacts, unknownAttachment } from './attachment-facts.ts'
import { keptPieces } from './kept-content.ts'
import type { AttachmentReader, RunningDigest } from './ports.ts'

export interface OutletDeps {
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

  /** Who handed it in, and whoever has a message with it; persons and the owner see what all of theirs see. */
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

  /** Content goes when nothing has it any more, also from under somebody who reads it. */
  async function missing(row: AttachmentRow, size: number): Promise<AppError> {
    const isThere = (await store.get('attachments', row.id)) !== undefined
    return isThere ? damaged(row, `what comes after ${size} bytes is missing`) : unknownAttachment(row.id)
  }

  function damaged({ id, blobId, organisation }: AttachmentRow, reason: string): AppError {
    log.error('the content of an attachment is damaged', { attachment: id, blob: blobId, organisation, reason })
    const message = `The content of the attachment "${id}" is damaged. Ask whoever sent it to upload it again.`
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
