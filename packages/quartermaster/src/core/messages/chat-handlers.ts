import type { ActivityRow, CHAT_ROUTES, ChatEntry } from '../../contracts/index.ts'
import { attachmentChip } from '../attachments/index.ts'
import type { Handlers } from '../organisation/index.ts'
import { activityCursor } from './activity-cursor.ts'
import { logOf } from './log-of.ts'
import type { MessageHandlersDeps } from './message-handlers.ts'

const USUAL_PAGE = 50

/** How the chat of a workspace is answered. */
export function chatHandlers({ messages, organisation }: MessageHandlersDeps): Handlers<keyof typeof CHAT_ROUTES> {
  const { activity, chat } = messages
  return {
    async readChat(visitor, { params, query: { limit = USUAL_PAGE, cursor } }) {
      const owner = await logOf(organisation, visitor, params.id)
      // Asked first: what comes while the page is read is told to whoever follows from here.
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
