import {
  type Activity,
  type ActivityRow,
  type ApiEvent,
  AppError,
  type MESSAGE_ROUTES,
  type SentMessage,
  type WaitingMessage,
} from '../../contracts/index.ts'
import { type Handlers, type Organisation, visible } from '../organisation/index.ts'
import { activityCursor } from './activity-cursor.ts'
import type { Sent } from './letter.ts'
import { logOf } from './log-of.ts'
import type { Messages } from './messages.ts'
import { readerOf } from './readers.ts'

export interface MessageHandlersDeps {
  readonly messages: Messages
  readonly organisation: Organisation
}

const USUAL_PAGE = 10

/** How everything about messages is answered. */
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
      { query: { limit = USUAL_PAGE, cursor, waitSeconds = 0 } },
      { origin, gone },
    ) {
      const after = cursor === undefined ? undefined : Number(cursor)
      // Listened to by those alone who wait.
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
      // Asked before anything is answered, so that a place that is gone is told as such.
      const from = await activity.place(owner, { since: lastEventId ?? since, sinceSeconds: sinceSeconds ?? NOW })
      const begin = activityCursor.write({ workspaceId: owner.id, sequence: from })
      return signal => eventsOf(begin, messages.follow(owner, { from, signal }))
    },
  }
}

/** Each says where to begin, and nobody could tell which of them counts. */
function refuseBoth({ since, sinceSeconds }: { since?: string | undefined; sinceSeconds?: number | undefined }): void {
  if (since === undefined || sinceSeconds === undefined) return
  throw new AppError('INPUT_INVALID', '"since" and "sinceSeconds" both say where to begin. Give one of them.')
}

/** Whoever follows without a place is told what comes from now on. */
const NOW = 0

async function* eventsOf(begin: string, rows: AsyncIterable<ActivityRow>): AsyncGenerator<ApiEvent<Activity>> {
  // Whoever is cut off before the first event goes on from here, and not from when it comes back.
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
