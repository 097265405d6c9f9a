import { type AttachmentRow, messageOf, type Settings } from '../../contracts/index.ts'
import { type Clock, createRounds, type Log, type Rounds } from '../kernel/index.ts'
import { mustExist, mustNotExist, remove, type Store, update, type Where, type Write } from '../store/index.ts'
import { createRemoval, ending } from './removal.ts'

/** Removes attachments that no message has, and what uploads have left half way. */
export interface AttachmentPruner {
  /** Begins now, and again every hour. */
  start(): void
  /** Resolves when what it is at is done. */
  stop(): Promise<void>
  /** Once; answers how many attachments and halves of files went. */
  prune(): Promise<number>
}

export interface AttachmentPrunerDeps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly settings: Pick<Settings, 'attachmentMegabytes' | 'attachmentOrphanHours'>
  /** Whether it is this process's to do; always when absent. */
  readonly isOurs?: (() => boolean) | undefined
}

const HOUR_MS = 3_600_000
/** Each goes by itself: some have thousands of pieces. */
const BATCH = 100
/** No server lets an upload be so slow that it takes longer. */
const MEGABYTES_AN_HOUR = 25

export function createAttachmentPruner(deps: AttachmentPrunerDeps): AttachmentPruner {
  const { store, clock, log, settings, isOurs } = deps
  const takeAway = createRemoval({ store, clock })
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

  /** Goes on behind what it has seen, so that one that cannot go holds up none of the others. */
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
    if (committed && others === 0) await takeAway(row.blobId)
    if (committed) return true
    // One that a message has is not loose, whatever was noted. Anything else was somebody at this moment: the next round sees.
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
    const { committed } = await store.commit([ending(id, 'partial')])
    if (committed) await takeAway(id)
    return committed
  }

  /** Somebody was cut off who had begun with it. */
  async function removeEnded({ id }: Seen): Promise<boolean> {
    await takeAway(id)
    return true
  }

  return { start: rounds.start, stop: rounds.stop, prune }
}

interface Seen {
  readonly id: string
  readonly since: number
}

type Loose = Seen & Pick<AttachmentRow, 'blobId' | 'looseSince'>

/** With the last that has it, its content ends, in the same commit. Nothing goes that a message has taken meanwhile. */
function withoutAttachment({ id, blobId, looseSince }: Loose, isShared: boolean): readonly Write[] {
  const own: readonly Write[] = [
    mustNotExist('attachmentuses', { attachmentId: id }, 'attachment.unused'),
    remove('attachments', { where: { id, looseSince }, guard: 'attachment.loose' }),
  ]
  if (isShared) return [...own, mustExist('attachments', { blobId }, 'blob.shared')]
  return [...own, mustNotExist('attachments', { blobId }, 'blob.unshared'), ending(blobId, 'complete')]
}
