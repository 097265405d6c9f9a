import {
  type ActivityRow,
  AppError,
  type InboxRow,
  MOST_WAITING_MESSAGES,
  type Settings,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type CancelSignal, type Clock, createFullnessCheck } from '../kernel/index.ts'
import { mustNotExist, pagesOf, remove, type Store, update, type Write } from '../store/index.ts'
import { rowsWithin } from './activity-log.ts'
import { type Post, type Sent } from './message.ts'
import {
  createCheckQueue,
  createReaders,
  type InboxCheck,
  isLeaseOrphaned,
  leaseOwnerOf,
  type Reader,
  type WaitDeps,
  type Watchers,
  waitUntilFound,
} from './readers.ts'

/** Unacknowledged messages. None is lost when the client that took it disconnects. */
export interface Inbox {
  /**
   * Leases the next messages to this reader: until the lease ends no other reader gets anything of these conversations, and the
   * same reader gets them again. Optionally waits for the first message.
   */
  take(request: TakeRequest): Promise<Taken>
  /** Acknowledges a message; returns whether it was in the inbox. */
  pop(workspace: Owner, activityId: string): Promise<boolean>
  /** The writes that acknowledge a message, to commit together with its answer. */
  popWrites(workspace: Owner, activityId: string): readonly Write[]
  /** What other readers hold now. */
  heldFrom(workspace: Owner, reader: Reader): Promise<Held | undefined>
  /** Releases what a reader holds that disconnected permanently. */
  leave(reader: Reader): Promise<void>
  /** Releases what readers hold whose process has ended, before their leases expire. */
  releaseOrphans(running: () => Promise<ReadonlySet<string>>): Promise<void>
  count(workspace: Owner): Promise<number>
  /** Whether it takes no more messages. */
  isFull(workspace: Owner): Promise<boolean>
}

interface TakeRequest {
  readonly workspace: Owner
  readonly reader: Reader
  readonly limit: number
  /** After this message: the cursor of the previous page. */
  readonly after?: number | undefined
  readonly waitMs?: number | undefined
  readonly signal?: CancelSignal | undefined
  /** Called now and then while it waits. */
  readonly onWaiting?: (() => void) | undefined
}

interface Taken {
  readonly rows: readonly ActivityRow[]
  /** The cursor of the next page, if any. */
  readonly next: number | undefined
  /** What other readers hold beside it. */
  readonly held: Held | undefined
}

/** Messages leased to other readers; nothing of their conversations is handed out meanwhile. */
export interface Held {
  readonly messages: number
  /** When the first of them is free, unless its reader renews or disconnects. */
  readonly until: number
}

type Owner = Pick<WorkspaceRow, 'id' | 'organisation'>

interface InboxDeps extends WaitDeps {
  readonly store: Store
  readonly clock: Clock
  readonly watchers: Watchers
  readonly settings: Pick<Settings, 'inboxLeaseSeconds'>
  /** The id of this process: leases of sessions include it and end with it. */
  readonly process: string
  readonly tasks?: (() => CarriedTasks | undefined) | undefined
}

const PAGE = 500
const firstPage = (limit: number) => Math.min(limit + 1, PAGE)
/** A failed try means that another reader got a message, so many in a row mean a flood of readers. */
const TRIES = 20

export function createInbox(deps: InboxDeps): Inbox {
  const { store, clock, watchers, settings, process } = deps
  const checkQueue = createCheckQueue(deps)
  const leaseMs = settings.inboxLeaseSeconds * 1_000
  const activeReaders = createReaders({ clock, leaseMs })
  /**
   * A lease that ends later was given by a clock that was set back since, and would block a message for that long. The clocks of
   * two nodes never differ by a whole lease.
   */
  const latestEnd = (now: number) => now + 2 * leaseMs

  /** Conversations that other readers hold, and when the first is free again. */
  async function heldByOthers({ id: workspaceId, organisation }: Owner, reader: Reader, now: number) {
    const where = { organisation, workspaceId, leaseUntil: { above: now }, leaseOwner: { not: reader } }
    // Ordered by lease end, using the index: an inbox may be full of messages that were never taken.
    const order = { by: ['leaseUntil', 'sequence'] as const }
    const conversations = new Set<string>()
    const readers = new Set<Reader>()
    let freeAt: number | undefined
    let messages = 0
    for await (const rows of pagesOf(store, 'inbox', { where, order, limit: PAGE })) {
      const held = rows.filter(({ leaseUntil }) => (leaseUntil ?? 0) <= latestEnd(now))
      freeAt ??= held[0]?.leaseUntil ?? undefined
      messages += held.length
      for (const { conversationId, leaseOwner } of held) {
        conversations.add(conversationId)
        if (leaseOwner !== null) readers.add(leaseOwner)
      }
    }
    return { conversations, readers, freeAt, held: freeAt === undefined ? undefined : { messages, until: freeAt } }
  }

  function pageBehind({ id: workspaceId, organisation }: Owner, after: number, limit: number) {
    const order = { by: ['sequence'] as const }
    return store.find('inbox', { where: { organisation, workspaceId }, order, after: [after], limit })
  }

  /** Reads one more row than wanted, to know whether there are more. Starts with a page already read. */
  async function candidates(
    { workspace, limit }: TakeRequest,
    first: readonly InboxRow[],
    held: ReadonlySet<string>,
  ): Promise<readonly InboxRow[]> {
    const found: InboxRow[] = []
    // Few rows are wanted and most inboxes hold little that others leased; where one does, larger pages are read.
    for (let rows = first, page = firstPage(limit); ; page = PAGE) {
      found.push(...rows.filter(({ conversationId }) => !held.has(conversationId)))
      const last = rows.at(-1)
      if (!last || rows.length < page || found.length > limit) return found.slice(0, limit + 1)
      rows = await pageBehind(workspace, last.sequence, PAGE)
    }
  }

  /** Leases messages to a reader; whether all of them succeeded. */
  async function lease(rows: readonly InboxRow[], reader: Reader, now: number): Promise<boolean> {
    const [first] = rows
    // A reader that asks twice in a moment need not renew its lease.
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

  /** The content of a log never changes, so it may be read before the messages are leased. */
  function contentOf(chosen: readonly InboxRow[], limit: number) {
    return rowsWithin(limit, (last, wanted) => {
      const behind = chosen.filter(({ sequence }) => sequence > (last?.sequence ?? 0))
      return whole(store, behind.slice(0, wanted))
    })
  }

  async function checkInbox(request: TakeRequest): Promise<Seen> {
    const { workspace, reader, limit } = request
    for (let tries = 0; tries < TRIES; tries++) {
      const now = Math.round(clock.now())
      // Queried in parallel to save round trips; so are the leases and messages below.
      const [{ conversations, readers, freeAt, held }, first] = await Promise.all([
        heldByOthers(workspace, reader, now),
        pageBehind(workspace, request.after ?? 0, firstPage(limit)),
      ])
      const rows = await candidates(request, first, conversations)
      const chosen = rows.slice(0, limit)
      // After the cursor there may be nothing while others can get messages before it.
      const others = request.after === undefined ? readers : 'everybody'
      if (chosen.length === 0) return { others, again: freeAt, held }
      activeReaders.takes(reader, workspace.id)
      const [isOurs, { rows: messages }] = await Promise.all([lease(chosen, reader, now), contentOf(chosen, limit)])
      if (!isOurs) continue
      await deps.tasks?.()?.onTaken(messages)
      const next = messages.length < rows.length ? messages.at(-1)?.sequence : undefined
      const again = Math.min(freeAt ?? Number.POSITIVE_INFINITY, now + leaseMs)
      const left = next === undefined && others !== 'everybody' ? others.add(reader) : 'everybody'
      return { found: { rows: messages, next, held }, others: left, again }
    }
    throw new AppError('STORE_BUSY', 'Too many readers take from this inbox at the same time. Try again in a moment.')
  }

  const count = ({ id: workspaceId, organisation }: Owner) => store.count('inbox', { workspaceId, organisation })

  function popWrites({ id: workspaceId, organisation }: Owner, id: string): readonly Write[] {
    return [remove('inbox', { where: { workspaceId, organisation, id }, rows: 'any' })]
  }

  async function heldFrom(workspace: Owner, reader: Reader): Promise<Held | undefined> {
    return (await heldByOthers(workspace, reader, Math.round(clock.now()))).held
  }

  async function takeNow(request: TakeRequest): Promise<Taken> {
    const seen = await checkInbox(request)
    return 'found' in seen ? seen.found : { ...NONE, held: seen.held }
  }

  async function takeWaiting(request: TakeRequest, waitMs: number): Promise<Taken> {
    const { workspace, reader, signal, onWaiting } = request
    const inTurn = checkQueue.inTurn({ workspaceId: workspace.id, reader }, () => checkInbox(request))
    const taken = await waitUntilFound(deps, { workspaceId: workspace.id, waitMs, signal, onWaiting }, inTurn)
    // "No message within the time" would be untrue here.
    if (!taken && !signal?.aborted && watchers.isStopped())
      throw new AppError('STOPPING', 'Quartermaster is stopping. Wait again in a moment.')
    return taken ?? { ...NONE, held: signal?.aborted ? undefined : await heldFrom(workspace, reader) }
  }

  async function releaseLeases(workspaceId: string, leaseOwner: Reader): Promise<void> {
    // Messages that were never taken are skipped.
    const where = { workspaceId, leaseOwner, leaseUntil: { above: 0 } }
    await store.commit([update('inbox', { where, set: { leaseOwner: null, leaseUntil: null }, rows: 'any' })])
    watchers.tell([workspaceId])
  }

  async function releaseOrphans(running: () => Promise<ReadonlySet<string>>): Promise<void> {
    const query = { where: { leaseUntil: { above: 0 } }, order: { by: ['id'] as const }, limit: PAGE }
    for await (const rows of pagesOf(store, 'inbox', query)) {
      // Queried after the rows were read: a process that starts meanwhile leases none of them.
      const alive = await running()
      const orphaned = rows.filter(({ leaseOwner }) => leaseOwner !== null && isLeaseOrphaned(leaseOwner, alive))
      const leases = new Map(orphaned.map(row => [`${row.workspaceId} ${row.leaseOwner}`, row]))
      for (const { workspaceId, leaseOwner } of leases.values()) await releaseLeases(workspaceId, leaseOwner ?? '')
    }
  }

  return {
    take({ waitMs = 0, ...given }) {
      const request = { ...given, reader: leaseOwnerOf(given.reader, process) }
      return activeReaders.during({ reader: request.reader, signal: given.signal }, signal =>
        waitMs > 0 ? takeWaiting({ ...request, signal }, waitMs) : takeNow({ ...request, signal }),
      )
    },
    heldFrom: (workspace, reader) => heldFrom(workspace, leaseOwnerOf(reader, process)),
    async leave(given) {
      const reader = leaseOwnerOf(given, process)
      const workspaceIds = await activeReaders.leave(reader)
      await Promise.all(workspaceIds.map(id => releaseLeases(id, reader)))
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
    isFull: createFullnessCheck({ most: MOST_WAITING_MESSAGES, keyOf: ({ id }: Owner) => id, count }),
  }
}

const NONE = { rows: [], next: undefined }

type Seen = InboxCheck<Taken> & { readonly held?: Held | undefined }

async function whole(store: Store, rows: readonly InboxRow[]): Promise<readonly ActivityRow[]> {
  if (rows.length === 0) return []
  const found = await store.find('activity', { where: { id: { in: rows.map(({ id }) => id) } }, limit: rows.length })
  return found.toSorted((a, b) => a.sequence - b.sequence)
}

/** The owner of tasks that messages carry. */
export interface CarriedTasks {
  /** A reader was handed these messages. */
  onTaken(rows: readonly ActivityRow[]): Promise<void>
  /** The id of this workspace's open task that a message carries. */
  openIn(owner: WorkspaceRow, activityId: string): Promise<string | undefined>
  /** Whether this is an open task of this workspace. */
  isOpen(peer: WorkspaceRow, taskId: string): Promise<boolean>
  /** Answers a message that carries a task of this workspace; `undefined` for an ordinary message. */
  reply(from: WorkspaceRow, activityId: string, post: Post): Promise<Sent | undefined>
  /** The change of an open task when its asker writes; `undefined` if the task is not open or not this workspace's. */
  onAskerMessage(asker: WorkspaceRow, taskId: string): Promise<TaskChange | undefined>
}

/** A change of a task, to commit with its cause. */
export interface TaskChange {
  readonly write: Write
  /** Called after the commit. */
  tell(): void
}

/** The guard that fails when a task changed meanwhile. */
export const TASK_GUARD = 'delegation.version'

/** The error for a change that lost against others every time. */
export function taskBusy(id: string): AppError {
  return new AppError('STORE_BUSY', `The task "${id}" keeps changing. Try again in a moment.`)
}
