import type { ActivityRow, InboxMessage } from '../../contracts/index.ts'

/** A message as the workspace is handed it. */
export function inboxMessage(row: ActivityRow, cardUrlOf: (workspaceId: string) => string): InboxMessage {
  return {
    activity_id: row.id,
    kind: row.kind,
    peer_id: row.peerId,
    peer_name: row.peerName,
    agent_card_url: row.peerKind === 'workspace' ? cardUrlOf(row.peerId) : null,
    text: row.text,
    parts: row.parts,
    attachments: row.attachments,
    conversation_id: row.conversationId,
    in_reply_to: row.inReplyTo,
    created_at: new Date(row.createdAt).toISOString(),
    ...(row.delegationId !== null && { task_id: row.delegationId }),
  }
}
