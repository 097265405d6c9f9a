import {
  type Actor,
  AppError,
  type HeldByOthers,
  type HistoryDesk,
  type InboxDesk,
  type PeopleDesk,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { attachmentChip } from '../attachments/index.ts'
import { type Organisation, workspaceOf } from '../organisation/index.ts'
import type { CarriedTasks } from './carried-tasks.ts'
import { inboxMessage } from './facts.ts'
import type { Held } from './inbox.ts'
import type { Messages } from './messages.ts'
import { type Reader, readerOf } from './readers.ts'

const USUAL_PAGE = 10

/** The inbox of an agent, for its tools. */
export function createInboxDesk(
  { inbox, sending, activity, cardUrlOf }: Messages,
  organisation: Organisation,
  tasks?: Pick<CarriedTasks, 'openIn'>,
): InboxDesk {
  const heldFor = (workspace: WorkspaceRow, actor: Actor) => inbox.heldFrom(workspace, readerFor(actor))
  return {
    async take(actor, { limit = USUAL_PAGE, cursor, waitMs, onWaiting }) {
      const workspace = await workspaceOf(organisation, actor)
      if (workspace.delivery === 'push') return { isPush: true }
      const after = cursor === undefined ? undefined : sequenceIn(cursor)
      const reader = readerFor(actor)
      const request = { workspace, reader, limit, after, waitMs, signal: actor.signal, onWaiting }
      // Whoever waits for messages is there.
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
      // Of an end that was told before there may be no message of its own.
      const isEnd = !row || row.kind === 'delegation_result'
      return { activityId: sent.activityId, conversationId: sent.conversationId, peerName, taskId, openTask, isEnd }
    },
    async broadcast(actor, wish) {
      return sending.broadcast(await workspaceOf(organisation, actor), wish, actor.signal)
    },
  }
}

/** The people of an agent, for its tools. */
export function createPeopleDesk({ sending, activity }: Messages, organisation: Organisation): PeopleDesk {
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

/** What an agent and its peers have said, for its tools. */
export function createHistoryDesk({ history, peerIn, cardUrlOf }: Messages, organisation: Organisation): HistoryDesk {
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

/** A call that no client made is its own, and the next one would find what it took with somebody else. */
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
