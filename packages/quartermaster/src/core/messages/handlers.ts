import {
  type Activity,
  type ActivityRow,
  type ApiEvent,
  AppError,
  type CHAT_ROUTES,
  type ChatEntry,
  type MESSAGE_ROUTES,
  type SentMessage,
  type WaitingMessage,
} from '../../contracts/index.ts'
import { attachmentChip } from '../attachments/index.ts'
import { type Handlers, type Organisation, visible } from '../organisation/index.ts'
import { activityCursor, logOf } from './activity-log.ts'
import { type Sent } from './message.ts'
import { type Messages } from './messages.ts'
import { readerOf } from './readers.ts'

interface MessageHandlersDeps {
  readonly messages: Messages
  readonly organisation: Organisation
}

const USUAL_MESSAGES = 10

/** API handlers for messages. */
export function messageHandlers({
  messages,
  organisation,
}: MessageHandlersDeps): Handlers<keyof typeof MESSAGE_ROUTES> {
  const { sending, inbox, activity } = messages

  return {
    sendMessage: async ({ workspace }, { body: { to, ...post } }) =>
      sentFacts(await sending.toPeer(workspace, to, post)),
    async writeToWorkspace(visitor, { params, body }) {
      const to = await visible(organisation, visitor, params.id)
      return sentFacts(await sending.fromPerson(visitor.kind === 'person' ? visitor.name : 'owner', to, body))
    },
    async readInbox(
      { workspace, tokenId },
      { query: { limit = USUAL_MESSAGES, cursor, waitSeconds = 0 } },
      { origin, gone },
    ) {
      const after = cursor === undefined ? undefined : Number(cursor)
      // Created lazily: only callers that wait subscribe.
      const signal = waitSeconds > 0 ? gone : undefined
      const request = { workspace, reader: readerOf(tokenId), limit, after, waitMs: waitSeconds * 1_000, signal }
      const { rows, next, held } = await organisation.presence.during(workspace, () => inbox.take(request))
      return {
        messages: rows.map(row => waitingMessage(row, origin)),
        nextCursor: next === undefined ? null : String(next),
        ...(held && { heldByOthers: held }),
      }
    },
    async popMessage({ workspace, tokenId }, { params: { activityId } }) {
      const removed = await inbox.pop(workspace, activityId)
      const held = await inbox.heldFrom(workspace, readerOf(tokenId))
      return { activityId, removed, ...(held && { heldByOthers: held }) }
    },
    replyToMessage: async ({ workspace }, { params, body }) =>
      sentFacts(await sending.reply(workspace, params.activityId, body)),
    async listActivity(visitor, { query: { workspaceId, peer: named, ...query } }) {
      refuseBoth(query)
      const owner = await logOf(organisation, visitor, workspaceId)
      const peer = named === undefined ? undefined : await messages.peerIn(owner, named)
      const { rows, cursor, more } = await activity.read(owner, { ...query, peer })
      return { activities: rows.map(activityFacts), cursor, more }
    },
    async followEvents(visitor, { query: { workspaceId, since, sinceSeconds } }, { lastEventId }) {
      refuseBoth({ since, sinceSeconds })
      const owner = await logOf(organisation, visitor, workspaceId)
      // Checked before the stream starts, so that a gone cursor is answered as an error.
      const from = await activity.place(owner, { since: lastEventId ?? since, sinceSeconds: sinceSeconds ?? NOW })
      const begin = activityCursor.write({ workspaceId: owner.id, sequence: from })
      return signal => eventsOf(begin, messages.follow(owner, { from, signal }))
    },
  }
}

/** Cursor and `sinceSeconds` each set the start, so only one may be given. */
function refuseBoth({ since, sinceSeconds }: { since?: string | undefined; sinceSeconds?: number | undefined }): void {
  if (since === undefined || sinceSeconds === undefined) return
  throw new AppError('INPUT_INVALID', '"since" and "sinceSeconds" both say where to begin. Give one of them.')
}

/** A follower without a cursor gets new rows only. */
const NOW = 0

async function* eventsOf(begin: string, rows: AsyncIterable<ActivityRow>): AsyncGenerator<ApiEvent<Activity>> {
  // A follower that is disconnected before its first event resumes here, not at the time it reconnects.
  yield { id: begin }
  for await (const row of rows) {
    const data = activityFacts(row)
    yield { id: data.cursor, told: { event: row.type, data } }
  }
}

function sentFacts({ activityId, messageId, conversationId, createdAt }: Sent): SentMessage {
  return { activityId, messageId, conversationId, createdAt }
}

function activityFacts(row: ActivityRow): Activity {
  const { workspaceId, sequence, delegationId: taskId } = row
  const { id, type, kind, direction, peerKind, peerId, peerName, conversationId, messageId, inReplyTo } = row
  const { text, parts, attachments, createdAt } = row
  const cursor = activityCursor.write({ workspaceId, sequence })
  const who = { kind, direction, peerKind, peerId, peerName }
  return {
    id,
    sequence,
    cursor,
    type,
    ...who,
    conversationId,
    messageId,
    inReplyTo,
    text,
    parts,
    attachments,
    taskId,
    createdAt,
  }
}

function waitingMessage(row: ActivityRow, origin: string): WaitingMessage {
  const { kind, peerId, peerName, text, parts, attachments, conversationId, inReplyTo, createdAt, delegationId } = row
  return {
    activityId: row.id,
    kind,
    peerId,
    peerName,
    agentCardUrl: row.peerKind === 'workspace' ? `${origin}/api/v1/workspaces/${peerId}/card` : null,
    text,
    parts,
    attachments,
    conversationId,
    inReplyTo,
    createdAt,
    ...(delegationId !== null && { taskId: delegationId }),
  }
}

const USUAL_CHAT = 50

/** API handlers for the chat of a workspace. */
export function chatHandlers({ messages, organisation }: MessageHandlersDeps): Handlers<keyof typeof CHAT_ROUTES> {
  const { activity, chat } = messages
  return {
    async readChat(visitor, { params, query: { limit = USUAL_CHAT, cursor } }) {
      const owner = await logOf(organisation, visitor, params.id)
      // The position is read first: followers that start there also get rows written while the page is read.
      const sequence = await activity.place(owner, { sinceSeconds: 0 })
      const before = cursor === undefined ? undefined : Number(cursor)
      const page = await chat.read(owner, { limit, before })
      return {
        entries: page.rows.map(chatEntry),
        nextCursor: page.before === undefined ? null : String(page.before),
        since: activityCursor.write({ workspaceId: owner.id, sequence }),
      }
    },
  }
}

function chatEntry(row: ActivityRow): ChatEntry {
  const { id, messageId, text, parts, inReplyTo, createdAt } = row
  return { id, messageId, from: speakerOf(row), text, parts, attachments: chipsOf(row), inReplyTo, createdAt }
}

function speakerOf({ direction, workspaceId, workspace, peerId, peerName }: ActivityRow): ChatEntry['from'] {
  return direction === 'out'
    ? { kind: 'workspace', id: workspaceId, name: workspace }
    : { kind: 'person', id: peerId, name: peerName }
}

function chipsOf({ attachments }: ActivityRow) {
  return attachments.map(attachmentChip)
}
