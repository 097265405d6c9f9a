import {
  AppError,
  type AttachmentFacts,
  type AttachmentRow,
  type BlobRow,
  messageOf,
  type Settings,
} from '../../contracts/index.ts'
import { type Clock, type Ids, type Log } from '../kernel/index.ts'
import { insert, mustExist, mustNotExist, remove, type Store, update, type Write } from '../store/index.ts'
import { attachmentFacts, chunkId, inChunks, isIntact, type RunningDigest, type Upload } from './content.ts'

export interface UploadDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  openDigest(): RunningDigest
  readonly settings: AttachmentSettings
}

/** Stores a file while it is received. An aborted or oversized upload leaves nothing. */
export type ReceiveUpload = (upload: Upload, content: AsyncIterable<Uint8Array>) => Promise<AttachmentFacts>

/** Unsent uploads per workspace or person. A sender has one or two; more would be a way to fill the disk. */
export const MOST_UNUSED = 200
/** A failed try means that another upload added or removed the same content at that moment. */
const MOST_TRIES = 10

interface Incoming {
  readonly upload: Upload
  readonly blobId: string
  readonly digest: RunningDigest
  size: number
  /** Number of stored chunks. */
  kept: number
}

/** Size and hash of the whole. */
interface Whole {
  readonly incoming: Incoming
  readonly sha256: string
  /** The chunk that is not stored yet. */
  readonly last: Uint8Array
}

/** Existing content. */
interface Same {
  readonly id: string
  readonly isWhole: boolean
}

export function createUploads({ store, clock, ids, log, openDigest, settings }: UploadDeps): ReceiveUpload {
  const limit = mostBytes(settings)
  const removeContent = createRemoval({ store, clock })

  async function refuseTooManyUploads({ organisation, by, workspaceId }: Upload): Promise<void> {
    const own = { organisation, workspace: by, workspaceId }
    const unused = await store.count('attachments', { ...own, looseSince: { not: null } })
    if (unused < MOST_UNUSED) return
    const message = `"${by}" has ${unused} attachments that no message has. Send them, or wait until they are removed.`
    throw new AppError('LIMIT_EXCEEDED', message, { details: { limit: MOST_UNUSED } })
  }

  function count(incoming: Incoming, bytes: Uint8Array): void {
    incoming.size += bytes.length
    if (incoming.size > limit) throw tooLarge(settings)
    incoming.digest.add(bytes)
  }

  async function keep(incoming: Incoming, bytes: Uint8Array): Promise<void> {
    const place = scopeOf(incoming)
    const blob = { ...place, id: incoming.blobId, state: 'partial', size: 0, createdAt: now() } as const
    const first = insert('blobs', blob)
    // An upload that was removed because it took too long gets no more chunks.
    const going = mustExist('blobs', { id: incoming.blobId, state: 'partial' }, 'blob.partial')
    const { committed } = await store.commit([incoming.kept === 0 ? first : going, pieceOf(incoming, bytes)])
    if (!committed) throw uploadCancelled()
    incoming.kept++
  }

  async function readAll(incoming: Incoming, content: AsyncIterable<Uint8Array>): Promise<Whole> {
    let last = new Uint8Array()
    for await (const { bytes, isLast } of inChunks(content)) {
      count(incoming, bytes)
      if (isLast) last = bytes as typeof last
      else await keep(incoming, bytes)
    }
    return { incoming, sha256: incoming.digest.end(), last }
  }

  async function finish(whole: Whole): Promise<AttachmentFacts> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const same = await sameAs(whole)
      const row = rowOf(whole, same?.isWhole ? same.id : whole.incoming.blobId)
      const outcome = await store.commit([...writesOf(whole, same), insert('attachments', row)])
      if (outcome.committed) {
        if (same) await (same.isWhole ? discard(whole.incoming) : removeDamaged(same.id))
        return attachmentFacts(row)
      }
      if (outcome.failed.guard === 'blob.partial') throw uploadCancelled()
    }
    throw new AppError('STORE_BUSY', 'Others bring and remove the same file over and over. Try again.')
  }

  /**
   * Finds intact content with the same hash. It is verified before an attachment shares it: that costs less than the write already
   * made, and a client that uploads a file again because the first is damaged gets an intact one.
   */
  async function sameAs({ incoming: { upload, size }, sha256 }: Whole): Promise<Same | undefined> {
    const where = { organisation: upload.organisation, sha256 }
    const [found] = await store.find('blobs', { where, columns: ['id'] })
    return found && { id: found.id, isWhole: await isIntact(store, openDigest, { blobId: found.id, size, sha256 }) }
  }

  function writesOf(whole: Whole, same: Same | undefined): readonly Write[] {
    if (!same) return addContent(whole, now())
    return same.isWhole
      ? shareContent(whole, same.id)
      : [...replaceDamaged(same.id, whole.incoming), ...addContent(whole, now())]
  }

  function rowOf({ incoming: { upload, size }, sha256 }: Whole, blobId: string): AttachmentRow {
    const { organisation, by: workspace, workspaceId, name, mediaType } = upload
    const id = ids.next('att')
    const at = now()
    return {
      id,
      organisation,
      workspace,
      workspaceId,
      blobId,
      name,
      mediaType,
      size,
      sha256,
      createdAt: at,
      looseSince: at,
    }
  }

  async function discard({ blobId, kept }: Incoming): Promise<void> {
    if (kept === 0) return
    await orLogFailure(blobId, async () => {
      // The process that ended it before removes its chunks as well; twice does no harm.
      await store.commit([endContent(blobId, 'partial')])
      if ((await store.get('blobs', blobId))?.state === 'ended') await removeContent(blobId)
    })
  }

  async function removeDamaged(blobId: string): Promise<void> {
    log.warn('the content of attachments was damaged, and is replaced by the same that was handed in again', { blobId })
    await orLogFailure(blobId, () => removeContent(blobId))
  }

  async function orLogFailure(blobId: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      // The pruner removes it later, with all incomplete uploads.
      log.warn('unused content could not be removed yet', { blobId, error: messageOf(error) })
    }
  }

  const now = () => Math.round(clock.now())

  return async (upload, content) => {
    if ((upload.announcedSize ?? 0) > limit) throw tooLarge(settings)
    await refuseTooManyUploads(upload)
    const incoming: Incoming = { upload, blobId: ids.next('blob'), digest: openDigest(), size: 0, kept: 0 }
    try {
      return await finish(await readAll(incoming, content))
    } catch (error) {
      await discard(incoming)
      throw error
    }
  }
}

function scopeOf({ upload }: Incoming) {
  return { organisation: upload.organisation, workspace: upload.by }
}

function pieceOf(incoming: Incoming, bytes: Uint8Array): Write {
  const { blobId, kept: position } = incoming
  return insert('chunks', { ...scopeOf(incoming), id: chunkId(blobId, position), blobId, position, bytes })
}

/** The content exists: the upload is discarded. */
function shareContent({ incoming }: Whole, blobId: string): readonly Write[] {
  const there = mustExist('blobs', { id: blobId, state: 'complete' }, 'blob.there')
  return incoming.kept === 0 ? [there] : [there, endContent(incoming.blobId, 'partial')]
}

/** The content exists but is damaged: its attachments get the new upload instead. */
function replaceDamaged(damagedId: string, { blobId }: Incoming): readonly Write[] {
  // First, so that the two are never taken for the same content, and nothing happens if another upload was faster.
  return [
    endContent(damagedId, 'complete'),
    update('attachments', { where: { blobId: damagedId }, set: { blobId }, rows: 'any' }),
  ]
}

/** The content is new: it becomes valid with its last chunk. */
function addContent({ incoming, sha256, last }: Whole, now: number): readonly Write[] {
  const { blobId, size, upload } = incoming
  const complete = { state: 'complete', size, sha256 } as const
  const isNew = mustNotExist('blobs', { organisation: upload.organisation, sha256 }, 'blob.new')
  const counts =
    incoming.kept === 0
      ? insert('blobs', { ...scopeOf(incoming), id: blobId, createdAt: now, ...complete })
      : update('blobs', { where: { id: blobId, state: 'partial' }, set: complete, guard: 'blob.partial' })
  return [isNew, counts, pieceOf(incoming, last)]
}

function tooLarge(settings: AttachmentSettings): AppError {
  const message = `The file is larger than ${settings.attachmentMegabytes} MB, which is as much as an attachment may have (attachmentMegabytes).`
  return new AppError('LIMIT_EXCEEDED', message, { details: { limit: mostBytes(settings) } })
}

/** It was removed as the upload of a dead process. */
function uploadCancelled(): AppError {
  const message = 'The upload took too long: it was cancelled, and the received part is removed. Upload the file again.'
  return new AppError('CANCELLED', message)
}

export type AttachmentSettings = Pick<Settings, 'attachmentMegabytes'>

const MEGABYTE = 1024 * 1024

export function mostBytes({ attachmentMegabytes }: AttachmentSettings): number {
  return attachmentMegabytes * MEGABYTE
}

/** Chunks deleted per commit, so that other commits wait for a few megabytes at most. */
const CHUNK_BATCH = 32

/** Deletes ended content. The pruner finishes interrupted deletions. */
export function createRemoval({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
  return async (blobId: string): Promise<void> => {
    for (let below = CHUNK_BATCH; (await store.count('chunks', { blobId })) > 0; below += CHUNK_BATCH) {
      await store.commit([remove('chunks', { where: { blobId, position: { below } }, rows: 'any' })])
      await clock.breathe()
    }
    await store.commit([remove('blobs', { where: { id: blobId, state: 'ended' }, rows: 'any' })])
  }
}

/**
 * After this commit the content is not found any more and gets no more chunks. Its guard fails if it is not in this state: chunks
 * that became complete meanwhile belong to an attachment.
 */
export function endContent(blobId: string, state: BlobRow['state']): Write {
  const guard = `blob.${state}`
  return update('blobs', { where: { id: blobId, state }, set: { state: 'ended', sha256: null }, guard })
}
