import { type Builder, index, PLACE, TYPES, table } from './migration-parts.ts'

/** The tasks that workspaces gave each other. */
export function delegationTables(builder: Builder): readonly string[] {
  const on = 'delegations'
  return [
    table(builder, on, {
      ...PLACE,
      from_id: 'text',
      from_name: 'text',
      to_id: 'text',
      to_name: 'text',
      state: 'text',
      task: 'text',
      attachments: 'text',
      ask_key: 'text?',
      body_digest: 'text?',
      conversation_id: 'text',
      parent_id: 'text?',
      hops: 'integer',
      chain: 'text',
      deadline_at: 'integer',
      due_at: 'integer?',
      slot: 'integer?',
      message_id: 'text',
      activity_id: 'text',
      result: 'text?',
      error: 'text?',
      progress: 'text?',
      progress_at: 'integer?',
      created_at: 'integer',
      updated_at: 'integer',
      started_at: 'integer?',
      ended_at: 'integer?',
      notice_id: 'text?',
      version: 'integer',
    }),
    index(builder, 'delegations_by_key', { on, columns: ['ask_key'], unique: true, notNull: 'ask_key' }),
    index(builder, 'delegations_by_slot', { on, columns: ['to_id', 'slot'], unique: true, notNull: 'slot' }),
    index(builder, 'delegations_by_due', { on, columns: ['deadline_at', 'id'], notNull: 'due_at' }),
    index(builder, 'delegations_by_peer', { on, columns: ['organisation', 'to_id', 'state', 'created_at', 'id'] }),
    index(builder, 'delegations_by_asker', { on, columns: ['organisation', 'from_id', 'created_at', 'id'] }),
    index(builder, 'delegations_by_receiver', { on, columns: ['organisation', 'to_id', 'created_at', 'id'] }),
    index(builder, 'delegations_by_change', { on, columns: ['organisation', 'from_id', 'to_id', 'updated_at', 'id'] }),
    index(builder, 'delegations_by_place', { on, columns: ['organisation', 'created_at', 'id'] }),
    index(builder, 'delegations_by_end', { on, columns: ['ended_at', 'id'], notNull: 'ended_at' }),
  ]
}

export function taskParts({ schema, dialect }: Builder): readonly string[] {
  return [schema.alterTable('delegations').addColumn('parts', TYPES[dialect].text).compile().sql]
}
