import {
  type ActivityRow,
  type Actor,
  AppError,
  type HeldByOthers,
  type HistoryService,
  type InboxService,
  type PeopleService,
  type Settings,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { attachmentChip } from '../attachments/index.ts'
import { type Clock, type Digest, type Ids } from '../kernel/index.ts'
import { type Organisation, workspaceOf } from '../organisation/index.ts'
import { type Store, type StoreNews } from '../store/index.ts'
import {
  type ActivityLog,
  createActivityLog,
  createHistory,
  followLog,
  type History,
  type LogOwner,
  rowsWithin,
} from './activity-log.ts'
import { type CarriedTasks, createInbox, type Held, type Inbox } from './inbox.ts'
import { type Attachments, chatOf, inboxMessage, NO_ATTACHMENTS } from './message.ts'
import { createWatchers, type Reader, readerOf, type Watchers } from './readers.ts'
import { createLogPeers, createSending, type FindLogPeer, type Sending } from './sending.ts'

/** Messages between workspaces and persons: their logs and inboxes. */
export interface Messages {
  readonly sending: Sending
  readonly inbox: Inbox
  readonly activity: ActivityLog
  readonly history: History
  /** Resolves the id or name of a peer for readers of a log. */
  readonly peerIn: FindLogPeer
  readonly chat: Chat
  /** Callers that wait for changes of a workspace. */
  readonly watchers: Pick<Watchers, 'watch' | 'count'>
  /** Yields every row of a log after a position as it is written. */
  follow(owner: LogOwner, options: { readonly from: number; readonly signal: AbortSignal }): AsyncIterable<ActivityRow>
  /** Sets the base URL of addresses in messages. */
  tellUrl(url: string): void
  /** The URL of a workspace's card. */
  cardUrlOf(workspaceId: string): string
  /** Ends all waiting. */
  stop(): void
}

interface MessagesDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
  /** The id of this process among those that share the store. */
  readonly process: string
  /** Notifications of other processes; absent if the store is not shared. */
  readonly news?: StoreNews | undefined
  readonly organisation: Pick<Organisation, 'workspaces'>
  /** Stores files; without it messages carry none. */
  readonly attachments?: Attachments | undefined
  readonly settings: Pick<Settings, 'inboxLeaseSeconds' | 'activityDays'>
  /** Lazy, because tasks are built upon messages. Without it messages carry no tasks. */
  readonly tasks?: (() => CarriedTasks | undefined) | undefined
}

export function createMessages(deps: MessagesDeps): Messages {
  const watchers = createWatchers()
  // Followers have a limit of their own, so that many observers never keep an agent from waiting.
  const followers = createWatchers()
  let origin = ''
  const stops = [watchers, followers].map(those => deps.news?.listen(those))
  const inbox = createInbox({ ...deps, watchers })
  const attachments = deps.attachments ?? NO_ATTACHMENTS
  const tell: Watchers['tell'] = workspaceIds => {
    for (const those of [watchers, followers]) those.tell(workspaceIds)
  }
  const activity = createActivityLog(deps)
  return {
    inbox,
    sending: createSending({ ...deps, attachments, inbox, tell }),
    activity,
    follow: (owner, options) => followLog({ ...deps, watchers: followers, activity }, owner, options),
    history: createHistory(deps),
    peerIn: createLogPeers(deps),
    chat: createChat(deps),
    watchers: { watch: watchers.watch, count: () => watchers.count() + followers.count() },
    tellUrl(url) {
      origin = url
    },
    cardUrlOf: id => `${origin}/api/v1/workspaces/${id}/card`,
    stop() {
      for (const stop of stops) stop?.()
      for (const those of [watchers, followers]) those.stop()
    },
  }
}

const USUAL_PAGE = 10

/** The inbox for an agent's tools. */
export function createInboxService(
  { inbox, sending, activity, cardUrlOf }: Messages,
  organisation: Organisation,
  tasks?: Pick<CarriedTasks, 'openIn'>,
): InboxService {
  const heldFor = (workspace: WorkspaceRow, actor: Actor) => inbox.heldFrom(workspace, readerFor(actor))
  return {
    async take(actor, { limit = USUAL_PAGE, cursor, waitMs, onWaiting }) {
      const workspace = await workspaceOf(organisation, actor)
      if (workspace.delivery === 'push') return { isPush: true }
      const after = cursor === undefined ? undefined : sequenceIn(cursor)
      const reader = readerFor(actor)
      const request = { workspace, reader, limit, after, waitMs, signal: actor.signal, onWaiting }
      // A client that waits for messages counts as present.
      const { rows, next, held } = await organisation.presence.during(workspace, () => inbox.take(request))
      const messages = rows.map(row => inboxMessage(row, cardUrlOf))
      const nextCursor = next === undefined ? null : String(next)
      return { isPush: false, messages, nextCursor, held: heldFacts(held) }
    },
    async pop(actor, activityId) {
      const workspace = await workspaceOf(organisation, actor)
      const isRemoved = await inbox.pop(workspace, activityId)
      const [openTask, held] = await Promise.all([tasks?.openIn(workspace, activityId), heldFor(workspace, actor)])
      return { isRemoved, isPush: workspace.delivery === 'push', openTask, held: heldFacts(held) }
    },
    async reply(actor, activityId, answer) {
      const workspace = await workspaceOf(organisation, actor)
      const sent = await sending.reply(workspace, activityId, answer)
      const [row, openTask] = await Promise.all([
        activity.get(workspace, sent.activityId),
        tasks?.openIn(workspace, activityId),
      ])
      const { peerName = '', delegationId: taskId = null } = row ?? {}
      // An end that was reported before may have no message of its own.
      const isEnd = !row || row.kind === 'delegation_result'
      return { activityId: sent.activityId, conversationId: sent.conversationId, peerName, taskId, openTask, isEnd }
    },
    async broadcast(actor, wish) {
      return sending.broadcast(await workspaceOf(organisation, actor), wish, actor.signal)
    },
  }
}

/** Chat with people for an agent's tools. */
export function createPeopleService({ sending, activity }: Messages, organisation: Organisation): PeopleService {
  return {
    async send(actor, post) {
      const workspace = await workspaceOf(organisation, actor)
      const { activityId, conversationId, createdAt } = await sending.toPeople(workspace, post)
      const row = await activity.get(workspace, activityId)
      const attachments = (row?.attachments ?? []).map(attachmentChip)
      return { activityId, conversationId, createdAt, attachments }
    },
  }
}

/** Message history for an agent's tools. */
export function createHistoryService(
  { history, peerIn, cardUrlOf }: Messages,
  organisation: Organisation,
): HistoryService {
  return {
    async read(actor, wish) {
      const workspace = await workspaceOf(organisation, actor)
      const peer = await peerIn(workspace, wish.peer)
      const { rows, before } = await history.read(workspace, { ...wish, peer })
      const messages = rows.map(row => ({ ...inboxMessage(row, cardUrlOf), direction: row.direction }))
      return { messages, before: before ?? null }
    },
  }
}

/** A call without a client would be a new reader each time, and find its messages leased by the previous one. */
function readerFor({ client, operationId, workspace }: Actor): Reader {
  return readerOf(client === operationId ? `workspace ${workspace}` : client)
}

function heldFacts(held: Held | undefined): HeldByOthers | undefined {
  return held && { messages: held.messages, until: new Date(held.until).toISOString() }
}

function sequenceIn(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor)
  throw new AppError('INPUT_INVALID', '"cursor" must be the "next_cursor" of the page before.')
}

/** The chat of a workspace with its people, all of whom see all of it. */
export interface Chat {
  /** The newest page, or the page before a position; both directions, oldest first. */
  read(workspace: LogOwner, query: { limit: number; before?: number | undefined }): Promise<ChatRows>
}

interface ChatRows {
  readonly rows: readonly ActivityRow[]
  /** The cursor of the previous page; absent on the first. */
  readonly before?: number
}

function createChat({ store }: { readonly store: Store }): Chat {
  return {
    async read({ id: workspaceId, organisation }, { limit, before }) {
      // A peer may choose any conversation name, so the rows are also filtered by persons.
      const where = { organisation, workspaceId, conversationId: chatOf(workspaceId), peerKind: 'person' as const }
      const order = { by: ['sequence'] as const, direction: 'descending' as const }
      const { rows, more } = await rowsWithin(limit, (last, wanted) => {
        const from = last?.sequence ?? before
        return store.find('activity', { where, order, limit: wanted, ...(from !== undefined && { after: [from] }) })
      })
      const first = rows.at(-1)
      return { rows: rows.toReversed(), ...(first && more && { before: first.sequence }) }
    },
  }
}
