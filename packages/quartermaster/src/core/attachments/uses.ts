import { AppError, type MessageAttachment } from '../../contracts/index.ts'
import type { Clock } from '../kernel/index.ts'
import { type FailedGuard, insert, remove, type Store, update, type Write } from '../store/index.ts'
import { messageAttachment } from './attachment-facts.ts'
import type { Outlet } from './outlet.ts'
import type { AttachmentReader } from './ports.ts'

/** A row of a workspace's log that is about to be written. */
export interface UsingRow {
  /** Of the row. */
  readonly id: string
  readonly workspaceId: string
  /** The workspace's name. */
  readonly workspace: string
}

/** Attachments of a message: what it shows of them, and what is to be written in its commit. */
export interface Uses {
  readonly facts: readonly MessageAttachment[]
  /** Each is guarded: a message whose attachment is cleaned away at that very moment is not sent. */
  readonly writes: readonly Write[]
}

/** Ties attachments to the messages that have them. */
export interface AttachmentUses {
  /**
   * What a message with these attachments needs, for all rows that it will have. Throws `NAME_UNKNOWN` when one of them is not
   * there, or not its sender's to give.
   */
  usesOf(ids: readonly string[], from: AttachmentReader, rows: readonly UsingRow[]): Promise<Uses>
  /** What is to be written when rows of a log go: attachments that no other row has are then removed after a while. */
  releaseOf(activityIds: readonly string[]): Promise<readonly Write[]>
}

const GUARD = 'attachment.there'
const PAGE = 1_000

export function createUses({
  store,
  clock,
  outlet,
}: {
  readonly store: Store
  readonly clock: Clock
  readonly outlet: Pick<Outlet, 'find'>
}): AttachmentUses {
  return {
    async usesOf(ids, from, rows) {
      const found = await Promise.all([...new Set(ids)].map(id => outlet.find(from, id)))
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
        // Others may have them still: whoever cleans looks once more.
        update('attachments', {
          where: { id: { in: ids } },
          set: { looseSince: Math.round(clock.now()) },
          rows: 'any',
        }),
      ]
    },
  }
}

/** Whether a commit did not happen because an attachment has gone meanwhile. */
export function isAttachmentGone({ guard }: FailedGuard): boolean {
  return guard === GUARD
}

/** The error for a message whose attachment went while it was sent. */
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
