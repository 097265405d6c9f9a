import {
  AppError,
  type AttachmentRow,
  type BlobRow,
  type MessageAttachment,
  messageOf,
  type Settings,
} from '../../contracts/index.ts'
import { type Clock, createRounds, type Log, type Rounds } from '../kernel/index.ts'
import {
  allRows,
  type FailedGuard,
  insert,
  mustExist,
  mustNotExist,
  pagesOf,
  remove,
  type Store,
  update,
  type Where,
  type Write,
} from '../store/index.ts'
import { type AttachmentReader, type Downloads, messageAttachment } from './content.ts'
import { createRemoval, endContent } from './upload.ts'

/** Removes attachments without a message and incomplete uploads. */
interface AttachmentPruner {
  /** Prunes now and every hour. */
  start(): void
  /** Resolves when the present step is done. */
  stop(): Promise<void>
  /** Prunes once and returns the number of removed attachments and incomplete uploads. */
  prune(): Promise<number>
}

interface AttachmentPrunerDeps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly settings: Pick<Settings, 'attachmentMegabytes' | 'attachmentOrphanHours'>
  /** Whether this process prunes; always by default. */
  readonly isOurs?: (() => boolean) | undefined
}

const HOUR_MS = 3_600_000
/** One at a time: some have thousands of chunks. */
const BATCH = 100
/** No server accepts an upload so slow that it takes longer. */
const MEGABYTES_AN_HOUR = 25

export function createAttachmentPruner(deps: AttachmentPrunerDeps): AttachmentPruner {
  const { store, clock, log, settings, isOurs } = deps
  const removeContent = createRemoval({ store, clock })
  const rounds: Rounds = createRounds({
    clock,
    everyMs: HOUR_MS,
    isOurs,
    work: prune,
    onError: error => log.warn('removing unused attachments failed and is tried again', { error: messageOf(error) }),
  })

  async function prune(): Promise<number> {
    const isLoose = { looseSince: { atMost: before(settings.attachmentOrphanHours) } }
    const loose = { where: isLoose, order: { by: ['looseSince', 'id'] }, columns: LOOSE_COLUMNS, limit: BATCH } as const
    const hours = 1 + settings.attachmentMegabytes / MEGABYTES_AN_HOUR
    const partial = blobsWhere({ state: 'partial', createdAt: { below: before(hours) } })
    const removed = [
      await inBatches(pagesOf(store, 'attachments', loose), removeLoose),
      await inBatches(pagesOf(store, 'blobs', partial), removePartial),
      await inBatches(pagesOf(store, 'blobs', blobsWhere({ state: 'ended' })), removeEnded),
    ]
    return removed.reduce((sum, count) => sum + count, 0)
  }

  /** Pages continue after the last row read, so a row that cannot be removed does not block the others. */
  async function inBatches<R>(
    pages: AsyncIterable<readonly R[]>,
    removeOne: (row: R) => Promise<boolean>,
  ): Promise<number> {
    let removed = 0
    if (rounds.isStopped()) return removed
    for await (const rows of pages) {
      for (const row of rows) if (!rounds.isStopped() && (await removeOne(row))) removed++
      await clock.breathe()
      if (rounds.isStopped()) break
    }
    return removed
  }

  const before = (hours: number) => Math.round(clock.now() - hours * HOUR_MS)

  async function removeLoose(row: Loose): Promise<boolean> {
    const others = await store.count('attachments', { blobId: row.blobId, id: { not: row.id } })
    const { committed } = await store.commit(withoutAttachment(row, others > 0))
    if (committed && others === 0) await removeContent(row.blobId)
    if (committed) return true
    // An attachment with a message is in use, whatever was noted. Anything else was a concurrent change, handled by the next round.
    await store.commit([
      mustExist('attachmentuses', { attachmentId: row.id }),
      update('attachments', { where: { id: row.id }, set: { looseSince: null } }),
    ])
    return false
  }

  async function removePartial({ id }: Pick<BlobRow, 'id'>): Promise<boolean> {
    const { committed } = await store.commit([endContent(id, 'partial')])
    if (committed) await removeContent(id)
    return committed
  }

  /** Finishes interrupted removals of content. */
  async function removeEnded({ id }: Pick<BlobRow, 'id'>): Promise<boolean> {
    await removeContent(id)
    return true
  }

  return { start: rounds.start, stop: rounds.stop, prune }
}

function blobsWhere(where: Where<'blobs'>) {
  return { where, order: { by: ['createdAt', 'id'] }, columns: ['id', 'createdAt'], limit: BATCH } as const
}

const LOOSE_COLUMNS = ['id', 'blobId', 'looseSince'] as const

type Loose = Pick<AttachmentRow, (typeof LOOSE_COLUMNS)[number]>

/**
 * Removes an attachment, and its content with the last attachment in the same commit. Guarded against messages that take it
 * meanwhile.
 */
function withoutAttachment({ id, blobId, looseSince }: Loose, isShared: boolean): readonly Write[] {
  const own: readonly Write[] = [
    mustNotExist('attachmentuses', { attachmentId: id }, 'attachment.unused'),
    remove('attachments', { where: { id, looseSince }, guard: 'attachment.loose' }),
  ]
  if (isShared) return [...own, mustExist('attachments', { blobId }, 'blob.shared')]
  return [...own, mustNotExist('attachments', { blobId }, 'blob.unshared'), endContent(blobId, 'complete')]
}

/** A row of a workspace's log to be written. */
interface UsingRow {
  readonly id: string
  readonly workspaceId: string
  readonly workspace: string
}

/** Attachments of a message: what it shows of them, and the writes of its commit. */
interface Uses {
  readonly facts: readonly MessageAttachment[]
  /** Guarded: a message whose attachment is pruned at that very moment is not sent. */
  readonly writes: readonly Write[]
}

/** Links attachments to the messages that have them. */
export interface AttachmentUses {
  /**
   * What a message with these attachments needs, for all its rows. Throws `NAME_UNKNOWN` if one does not exist or is not the
   * sender's to give.
   */
  usesOf(ids: readonly string[], from: AttachmentReader, rows: readonly UsingRow[]): Promise<Uses>
  /** The writes when rows of a log are deleted: attachments that no other row has are then removed after a while. */
  releaseOf(activityIds: readonly string[]): Promise<readonly Write[]>
}

const GUARD = 'attachment.there'

export function createUses({
  store,
  clock,
  downloads,
}: {
  readonly store: Store
  readonly clock: Clock
  readonly downloads: Pick<Downloads, 'find'>
}): AttachmentUses {
  return {
    async usesOf(ids, from, rows) {
      const found = await Promise.all([...new Set(ids)].map(id => downloads.find(from, id)))
      const { organisation } = from
      const writes = found.flatMap(({ id: attachmentId }) => [
        update('attachments', { where: { id: attachmentId, organisation }, set: { looseSince: null }, guard: GUARD }),
        ...rows.map(({ id: activityId, workspaceId, workspace }) => {
          const id = `${activityId}.${attachmentId}`
          return insert('attachmentuses', { id, organisation, workspace, attachmentId, workspaceId, activityId })
        }),
      ])
      return { facts: found.map(messageAttachment), writes }
    },
    async releaseOf(activityIds) {
      const ids = await usedBy(store, activityIds)
      if (ids.length === 0) return []
      return [
        remove('attachmentuses', { where: { activityId: { in: activityIds } }, rows: 'any' }),
        // Other messages may have them still: the pruner checks again.
        update('attachments', {
          where: { id: { in: ids } },
          set: { looseSince: Math.round(clock.now()) },
          rows: 'any',
        }),
      ]
    },
  }
}

/** Whether a commit failed because an attachment was removed meanwhile. */
export function isAttachmentGone({ guard }: FailedGuard): boolean {
  return guard === GUARD
}

/** The error for a message whose attachment was removed while it was sent. */
export function attachmentGone(): AppError {
  return new AppError('NAME_UNKNOWN', 'An attachment was removed while the message was sent. Upload the file again.')
}

async function usedBy(store: Store, activityIds: readonly string[]): Promise<string[]> {
  const rows = await allRows(store, 'attachmentuses', { activityId: { in: activityIds } }, ['attachmentId'])
  return [...new Set(rows.map(({ attachmentId }) => attachmentId))]
}
