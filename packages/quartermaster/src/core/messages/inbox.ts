import {
  type ActivityRow,
  AppError,
  type InboxRow,
  MOST_WAITING_MESSAGES,
  type Settings,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type CancelSignal, type Clock, createFullness } from '../kernel/index.ts'
import { mustNotExist, remove, type Store, update, type Write } from '../store/index.ts'
import { rowsWithin } from './activity-log.ts'
import { type Post, type Sent } from './message.ts'
import {
  createLooks,
  createReaders,
  type Glance,
  isLeaseOrphaned,
  leaseOwnerOf,
  type Reader,
  type WaitDeps,
  type Watchers,
  waitUntilFound,
} from './readers.ts'

/** Messages that are not acknowledged. None is lost when the client that took it goes away. */
export interface Inbox {
  /**
   * The next messages for this reader, who has them for the time of a lease: no other gets anything of these conversations
   * meanwhile, and the same one gets them again. Waits for the first when it may and there are none.
   */
  take(request: TakeRequest): Promise<Taken>
  /** Acknowledges a message. Whether it was there. */
  pop(workspace: Owner, activityId: string): Promise<boolean>
  /** What acknowledges it, to be committed with its answer. */
  popWrites(workspace: Owner, activityId: string): readonly Write[]
  /** What other readers have in hand now. */
  heldFrom(workspace: Owner, reader: Reader): Promise<Held | undefined>
  /** This reader has gone and comes back no more: what it had is there for the others at once. */
  leave(reader: Reader): Promise<void>
  /** Releases what readers have in hand that ended with their process, so that it is free before its lease is over. */
  releaseOrphans(running: () => Promise<ReadonlySet<string>>): Promise<void>
  count(workspace: Owner): Promise<number>
  /** Whether it takes no more. */
  isFull(workspace: Owner): Promise<boolean>
}

export interface TakeRequest {
  readonly workspace: Owner
  readonly reader: Reader
  readonly limit: number
  /** Behind this one: where the page before ended. */
  readonly after?: number | undefined
  readonly waitMs?: number | undefined
  readonly signal?: CancelSignal | undefined
  /** Told now and then while it waits. */
  readonly onWaiting?: (() => void) | undefined
}

interface Taken {
  readonly rows: readonly ActivityRow[]
  /** Where the next page begins, when there is one. */
  readonly next: number | undefined
  /** What is there beside it, and in the hands of others. */
  readonly held: Held | undefined
}

/** Messages that other readers have in hand. Nothing of their conversations is handed out meanwhile. */
export interface Held {
  readonly messages: number
  /** When the first of them is free again, unless its reader asks again or leaves. */
  readonly until: number
}

type Owner = Pick<WorkspaceRow, 'id' | 'organisation'>

interface InboxDeps extends WaitDeps {
  readonly store: Store
  readonly clock: Clock
  readonly watchers: Watchers
  readonly settings: Pick<Settings, 'inboxLeaseSeconds'>
  /** The id of this process: leases of sessions are held under it, and end with it. */
  readonly process: string
  readonly tasks?: (() => CarriedTasks | undefined) | undefined
}

const PAGE = 500
const firstPage = (limit: number) => Math.min(limit + 1, PAGE)
/** Each failed try means that another reader has got something, so that many in a row are a flood of readers. */
const TRIES = 20

export function createInbox(deps: InboxDeps): Inbox {
  const { store, clock, watchers, settings, process } = deps
  const looks = createLooks(deps)
  const leaseMs = settings.inboxLeaseSeconds * 1_000
  const atWork = createReaders({ clock, leaseMs })
  /**
   * A lease that ends later was given by a clock that was put back since, and would keep a message from everybody for as long as
   * it was put back. The clocks of two nodes are never a whole lease apart.
   */
  const latestEnd = (now: number) => now + 2 * leaseMs

  /** The conversations that others have now, who these are, what they hold, and when the first of it is free again. */
  async function heldByOthers({ id: workspaceId, organisation }: Owner, reader: Reader, now: number) {
    const where = { organisation, workspaceId, leaseUntil: { above: now }, leaseOwner: { not: reader } }
    // By the time that they end, as the index has it: an inbox may be full of messages that were never taken.
    const order = { by: ['leaseUntil', 'sequence'] as const }
    const conversations = new Set<string>()
    const readers = new Set<Reader>()
    let freeAt: number | undefined
    let messages = 0
    for (let after: readonly number[] | undefined; ; ) {
      const rows = await store.find('inbox', { where, order, limit: PAGE, ...(after && { after }) })
      const held = rows.filter(({ leaseUntil }) => (leaseUntil ?? 0) <= latestEnd(now))
      freeAt ??= held[0]?.leaseUntil ?? undefined
      messages += held.length
      for (const { conversationId, leaseOwner } of held) {
        conversations.add(conversationId)
        if (leaseOwner !== null) readers.add(leaseOwner)
      }
      const last = rows.at(-1)
      if (!last || rows.length < PAGE)
        return { conversations, readers, freeAt, held: freeAt === undefined ? undefined : { messages, until: freeAt } }
      after = [last.leaseUntil ?? now, last.sequence]
    }
  }

  function pageBehind({ id: workspaceId, organisation }: Owner, after: number, limit: number) {
    const order = { by: ['sequence'] as const }
    return store.find('inbox', { where: { organisation, workspaceId }, order, after: [after], limit })
  }

  /** One more than wanted, so that it is known whether there are more. Begins with a page that was read already. */
  async function candidates(
    { workspace, limit }: TakeRequest,
    first: readonly InboxRow[],
    held: ReadonlySet<string>,
  ): Promise<readonly InboxRow[]> {
    const found: InboxRow[] = []
    // Few are wanted and most inboxes hold little that others have; where one does, more is looked through at a time.
    for (let rows = first, page = firstPage(limit); ; page = PAGE) {
      found.push(...rows.filter(({ conversationId }) => !held.has(conversationId)))
      const last = rows.at(-1)
      if (!last || rows.length < page || found.length > limit) return found.slice(0, limit + 1)
      rows = await pageBehind(workspace, last.sequence, PAGE)
    }
  }

  /** Whether this reader has them all from now on. */
  async function lease(rows: readonly InboxRow[], reader: Reader, now: number): Promise<boolean> {
    const [first] = rows
    // A reader that looks twice in a moment need not renew the lease twice.
    const isOurs = ({ leaseOwner, leaseUntil }: InboxRow) =>
      leaseOwner === reader && (leaseUntil ?? 0) > now + leaseMs / 2 && (leaseUntil ?? 0) <= latestEnd(now)
    if (!first || rows.every(isOurs)) return true
    const { workspaceId } = first
    const conversationId = { in: [...new Set(rows.map(row => row.conversationId))] }
    const elsewhere = { workspaceId, conversationId, leaseUntil: { above: now }, leaseOwner: { not: reader } }
    const { committed } = await store.commit([
      update('inbox', {
        where: { workspaceId, conversationId, leaseUntil: { above: latestEnd(now) } },
        set: { leaseOwner: null, leaseUntil: null },
        rows: 'any',
      }),
      mustNotExist('inbox', elsewhere, 'inbox.free'),
      update('inbox', {
        where: { workspaceId, id: { in: rows.map(({ id }) => id) } },
        set: { leaseOwner: reader, leaseUntil: now + leaseMs },
        rows: rows.length,
        guard: 'inbox.there',
      }),
    ])
    return committed
  }

  /** The content of a log never changes, so that it may be read before these are leased. */
  function contentOf(chosen: readonly InboxRow[], limit: number) {
    return rowsWithin(limit, (last, wanted) => {
      const behind = chosen.filter(({ sequence }) => sequence > (last?.sequence ?? 0))
      return whole(store, behind.slice(0, wanted))
    })
  }

  async function look(request: TakeRequest): Promise<Seen> {
    const { workspace, reader, limit } = request
    for (let tries = 0; tries < TRIES; tries++) {
      const now = Math.round(clock.now())
      // Asked for together, as each answer takes its time to come; so are the lease and what is in the messages below.
      const [{ conversations, readers, freeAt, held }, first] = await Promise.all([
        heldByOthers(workspace, reader, now),
        pageBehind(workspace, request.after ?? 0, firstPage(limit)),
      ])
      const rows = await candidates(request, first, conversations)
      const chosen = rows.slice(0, limit)
      // Behind a place there may be nothing while there is something for others before it.
      const others = request.after === undefined ? readers : 'everybody'
      if (chosen.length === 0) return { others, again: freeAt, held }
      atWork.takes(reader, workspace.id)
      const [isOurs, { rows: messages }] = await Promise.all([lease(chosen, reader, now), contentOf(chosen, limit)])
      if (!isOurs) continue
      await deps.tasks?.()?.taken(messages)
      const next = messages.length < rows.length ? messages.at(-1)?.sequence : undefined
      const again = Math.min(freeAt ?? Number.POSITIVE_INFINITY, now + leaseMs)
      const left = next === undefined && others !== 'everybody' ? others.add(reader) : 'everybody'
      return { found: { rows: messages, next, held }, others: left, again }
    }
    throw new AppError('STORE_BUSY', 'Others take from this inbox all the time. Try again in a moment.')
  }

  const count = ({ id: workspaceId, organisation }: Owner) => store.count('inbox', { workspaceId, organisation })

  function popWrites({ id: workspaceId, organisation }: Owner, id: string): readonly Write[] {
    return [remove('inbox', { where: { workspaceId, organisation, id }, rows: 'any' })]
  }

  async function heldFrom(workspace: Owner, reader: Reader): Promise<Held | undefined> {
    return (await heldByOthers(workspace, reader, Math.round(clock.now()))).held
  }

  async function takeNow(request: TakeRequest): Promise<Taken> {
    const seen = await look(request)
    return 'found' in seen ? seen.found : { ...NONE, held: seen.held }
  }

  async function takeWaiting(request: TakeRequest, waitMs: number): Promise<Taken> {
    const { workspace, reader, signal, onWaiting } = request
    const inTurn = looks.inTurn({ workspaceId: workspace.id, reader }, () => look(request))
    const taken = await waitUntilFound(deps, { workspaceId: workspace.id, waitMs, signal, onWaiting }, inTurn)
    // That no message came in the time that was given would not be true.
    if (!taken && !signal?.aborted && watchers.isStopped())
      throw new AppError('STOPPING', 'Quartermaster is stopping. Wait again in a moment.')
    return taken ?? { ...NONE, held: signal?.aborted ? undefined : await heldFrom(workspace, reader) }
  }

  async function giveBack(workspaceId: string, leaseOwner: Reader): Promise<void> {
    // Messages that were never taken are not looked through.
    const where = { workspaceId, leaseOwner, leaseUntil: { above: 0 } }
    await store.commit([update('inbox', { where, set: { leaseOwner: null, leaseUntil: null }, rows: 'any' })])
    watchers.tell([workspaceId])
  }

  async function releaseOrphans(running: () => Promise<ReadonlySet<string>>): Promise<void> {
    const query = { where: { leaseUntil: { above: 0 } }, order: { by: ['id'] as const }, limit: PAGE }
    for (let after: readonly string[] | undefined; ; ) {
      const rows = await store.find('inbox', after ? { ...query, after } : query)
      // Asked after the rows were read: a process that joins in between leases nothing of them.
      const alive = rows.length > 0 ? await running() : new Set<string>()
      const orphaned = rows.filter(({ leaseOwner }) => leaseOwner !== null && isLeaseOrphaned(leaseOwner, alive))
      const leases = new Map(orphaned.map(row => [`${row.workspaceId} ${row.leaseOwner}`, row]))
      for (const { workspaceId, leaseOwner } of leases.values()) await giveBack(workspaceId, leaseOwner ?? '')
      const last = rows.at(-1)
      if (!last || rows.length < PAGE) return
      after = [last.id]
    }
  }

  return {
    take({ waitMs = 0, ...given }) {
      const request = { ...given, reader: leaseOwnerOf(given.reader, process) }
      return atWork.during({ reader: request.reader, signal: given.signal }, signal =>
        waitMs > 0 ? takeWaiting({ ...request, signal }, waitMs) : takeNow({ ...request, signal }),
      )
    },
    heldFrom: (workspace, reader) => heldFrom(workspace, leaseOwnerOf(reader, process)),
    async leave(given) {
      const reader = leaseOwnerOf(given, process)
      const workspaceIds = await atWork.leave(reader)
      await Promise.all(workspaceIds.map(id => giveBack(id, reader)))
    },
    releaseOrphans,
    async pop(workspace, activityId) {
      const outcome = await store.commit(popWrites(workspace, activityId))
      const isRemoved = outcome.committed && outcome.rows[0] === 1
      if (isRemoved) watchers.tell([workspace.id])
      return isRemoved
    },
    popWrites,
    count,
    isFull: createFullness({ most: MOST_WAITING_MESSAGES, keyOf: ({ id }: Owner) => id, count }),
  }
}

const NONE = { rows: [], next: undefined }

type Seen = Glance<Taken> & { readonly held?: Held | undefined }

/** The messages themselves, in their order. */
async function whole(store: Store, rows: readonly InboxRow[]): Promise<readonly ActivityRow[]> {
  if (rows.length === 0) return []
  const found = await store.find('activity', { where: { id: { in: rows.map(({ id }) => id) } }, limit: rows.length })
  return found.toSorted((a, b) => a.sequence - b.sequence)
}

/** The keeper of the tasks that messages carry. */
export interface CarriedTasks {
  /** A reader was handed these messages. */
  taken(rows: readonly ActivityRow[]): Promise<void>
  /** The id of the task of this workspace that a message carries, while it is open. */
  openIn(owner: WorkspaceRow, activityId: string): Promise<string | undefined>
  /** Whether this is a task that this workspace has to do, and that is not over. */
  isOpen(peer: WorkspaceRow, taskId: string): Promise<boolean>
  /** Answers a message that carries a task of this workspace; nothing when it is an ordinary one. */
  reply(from: WorkspaceRow, activityId: string, post: Post): Promise<Sent | undefined>
  /** What becomes of an open task with a word of its asker; nothing when it is not this workspace's, or over. */
  spoken(asker: WorkspaceRow, taskId: string): Promise<TaskChange | undefined>
}

/** A change of a task, to be committed with what brings it about. */
export interface TaskChange {
  /** Its guard is `TASK_GUARD`. */
  readonly write: Write
  /** It is on record. */
  tell(): void
}

/** What fails when a task has changed meanwhile. */
export const TASK_GUARD = 'delegation.version'

/** For a change that always came too late. */
export function taskBusy(id: string): AppError {
  return new AppError('STORE_BUSY', `The task "${id}" changes all the time. Try again in a moment.`)
}
