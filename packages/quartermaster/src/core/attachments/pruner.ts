import {
  AppError,
  type AttachmentRow,
  type MessageAttachment,
  messageOf,
  type Settings,
} from '../../contracts/index.ts'
import { type Clock, createRounds, type Log, type Rounds } from '../kernel/index.ts'
import {
  type FailedGuard,
  insert,
  mustExist,
  mustNotExist,
  remove,
  type Store,
  update,
  type Where,
  type Write,
} from '../store/index.ts'
import { type AttachmentReader, type Downloads, messageAttachment } from './content.ts'
import { createRemoval, endContent } from './upload.ts'

/** Removes attachments without a message and incomplete uploads. */
export interface AttachmentPruner {
  /** Prunes now and every hour. */
  start(): void
  /** Resolves when the present step is done. */
  stop(): Promise<void>
  /** Prunes once and returns the number of removed attachments and incomplete uploads. */
  prune(): Promise<number>
}

export interface AttachmentPrunerDeps {
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
    const loose = await inBatches(looseAttachments, removeLoose)
    const halves = await inBatches(oldPartials, removePartial)
    return loose + halves + (await inBatches(after => blobs({ state: 'ended' }, after), removeEnded))
  }

  /** Continues after what it has seen, so that one that cannot be removed blocks none of the others. */
  async function inBatches<R extends Seen>(
    find: (after: [number, string] | undefined) => Promise<readonly R[]>,
    removeOne: (row: R) => Promise<boolean>,
  ): Promise<number> {
    let removed = 0
    for (let after: [number, string] | undefined; ; await clock.breathe()) {
      const rows = rounds.isStopped() ? [] : await find(after)
      for (const row of rows) if (!rounds.isStopped() && (await removeOne(row))) removed++
      const last = rows.at(-1)
      if (!last || rows.length < BATCH) return removed
      after = [last.since, last.id]
    }
  }

  const before = (hours: number) => Math.round(clock.now() - hours * HOUR_MS)

  async function looseAttachments(after: [number, string] | undefined): Promise<readonly Loose[]> {
    const rows = await store.find('attachments', {
      where: { looseSince: { atMost: before(settings.attachmentOrphanHours) } },
      // Never null among these.
      order: { by: ['looseSince' as 'createdAt', 'id'] },
      columns: ['id', 'blobId', 'looseSince'],
      limit: BATCH,
      ...(after ? { after } : {}),
    })
    return rows.map(row => ({ ...row, since: row.looseSince ?? 0 }))
  }

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

  function oldPartials(after: [number, string] | undefined): Promise<readonly Seen[]> {
    const hours = 1 + settings.attachmentMegabytes / MEGABYTES_AN_HOUR
    return blobs({ state: 'partial', createdAt: { below: before(hours) } }, after)
  }

  async function blobs(where: Where<'blobs'>, after: [number, string] | undefined): Promise<readonly Seen[]> {
    const rows = await store.find('blobs', {
      where,
      order: { by: ['createdAt', 'id'] },
      columns: ['id', 'createdAt'],
      limit: BATCH,
      ...(after ? { after } : {}),
    })
    return rows.map(({ id, createdAt }) => ({ id, since: createdAt }))
  }

  async function removePartial({ id }: Seen): Promise<boolean> {
    const { committed } = await store.commit([endContent(id, 'partial')])
    if (committed) await removeContent(id)
    return committed
  }

  /** Finishes interrupted removals of content. */
  async function removeEnded({ id }: Seen): Promise<boolean> {
    await removeContent(id)
    return true
  }

  return { start: rounds.start, stop: rounds.stop, prune }
}

interface Seen {
  readonly id: string
  readonly since: number
}

type Loose = Seen & Pick<AttachmentRow, 'blobId' | 'looseSince'>

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
const PAGE = 1_000

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
  const found = new Set<string>()
  for (let after: readonly string[] | undefined; ; ) {
    const query = {
      where: { activityId: { in: activityIds } },
      order: { by: ['id'] as const },
      columns: ['id', 'attachmentId'] as const,
      limit: PAGE,
    }
    const page = await store.find('attachmentuses', after ? { ...query, after } : query)
    for (const { attachmentId } of page) found.add(attachmentId)
    const last = page.at(-1)
    if (!last || page.length < PAGE) return [...found]
    after = [last.id]
  }
}
