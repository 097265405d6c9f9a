import { type Builder, index, PLACE, TYPES, table } from './migration-parts.ts'

/** The logs of the workspaces, and what of them is not acknowledged. */
export function messageTables(builder: Builder): readonly string[] {
  return [...activity(builder), ...inbox(builder)]
}

/** Protocols in which whoever sends a message names it show it under that name. */
export function senderNames({ schema, dialect }: Builder): readonly string[] {
  return [schema.alterTable('activity').addColumn('sender_message_id', TYPES[dialect].text).compile().sql]
}

function activity(builder: Builder): readonly string[] {
  const on = 'activity'
  return [
    table(builder, on, {
      ...PLACE,
      workspace_id: 'text',
      sequence: 'integer',
      type: 'text',
      kind: 'text',
      direction: 'text',
      peer_kind: 'text',
      peer_id: 'text',
      peer_name: 'text',
      conversation_id: 'text',
      message_id: 'text',
      in_reply_to: 'text?',
      text: 'text',
      parts: 'text',
      attachments: 'text',
      delegation_id: 'text?',
      sent_key: 'text?',
      body_digest: 'text?',
      created_at: 'integer',
    }),
    index(builder, 'activity_by_sequence', { on, columns: ['workspace_id', 'sequence'], unique: true }),
    index(builder, 'activity_by_time', { on, columns: ['workspace_id', 'created_at', 'sequence'] }),
    index(builder, 'activity_by_peer', { on, columns: ['workspace_id', 'peer_id', 'created_at', 'sequence'] }),
    // In its order for whoever reads it; with the peer, so that nothing else is read to see whose it is.
    index(builder, 'activity_by_conversation', {
      on,
      columns: ['workspace_id', 'conversation_id', 'sequence', 'peer_id'],
    }),
    index(builder, 'activity_by_age', { on, columns: ['created_at', 'id'] }),
    index(builder, 'activity_by_sent_key', { on, columns: ['sent_key'], unique: true, notNull: 'sent_key' }),
  ]
}

function inbox(builder: Builder): readonly string[] {
  const on = 'inbox'
  return [
    table(builder, on, {
      ...PLACE,
      workspace_id: 'text',
      sequence: 'integer',
      conversation_id: 'text',
      lease_owner: 'text?',
      lease_until: 'integer?',
    }),
    index(builder, 'inbox_by_sequence', { on, columns: ['workspace_id', 'sequence'], unique: true }),
    index(builder, 'inbox_by_lease', {
      on,
      columns: ['workspace_id', 'lease_until', 'sequence'],
      notNull: 'lease_until',
    }),
  ]
}
