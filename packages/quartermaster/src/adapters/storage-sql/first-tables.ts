import { type Builder, CALLER, index, PLACE, table } from './migration-parts.ts'

/** What there was from the first. */
export function firstTables(builder: Builder): readonly string[] {
  return [...tokens(builder), ...operations(builder), ...audit(builder), ...secrets(builder)]
}

function tokens(builder: Builder): readonly string[] {
  return [
    table(builder, 'tokens', {
      ...PLACE,
      ...CALLER,
      hash: 'text',
      label: 'text?',
      scopes: 'text',
      created_at: 'integer',
      expires_at: 'integer?',
      revoked_at: 'integer?',
      replaced_by: 'text?',
      last_used_at: 'integer?',
    }),
    index(builder, 'tokens_by_hash', { on: 'tokens', columns: ['hash'], unique: true }),
    index(builder, 'tokens_by_workspace', { on: 'tokens', columns: ['organisation', 'workspace', 'created_at', 'id'] }),
  ]
}

function operations(builder: Builder): readonly string[] {
  return [
    table(builder, 'operations', {
      ...PLACE,
      ...CALLER,
      tool: 'text',
      definition_hash: 'text',
      mutates: 'integer',
      parent_id: 'text?',
      arguments: 'text?',
      digest: 'text',
      idempotency_key: 'text?',
      state: 'text',
      attempts: 'integer',
      due_at: 'integer?',
      lease_owner: 'text?',
      lease_until: 'integer?',
      fence: 'integer',
      outcome: 'text?',
      effects: 'text',
      result: 'text?',
      error: 'text?',
      progress: 'text?',
      cancel_requested_at: 'integer?',
      announced_at: 'integer?',
      created_at: 'integer',
      updated_at: 'integer',
      started_at: 'integer?',
      ended_at: 'integer?',
      expires_at: 'integer?',
      keep_until: 'integer?',
    }),
    index(builder, 'operations_by_idempotency_key', {
      on: 'operations',
      columns: ['organisation', 'workspace', 'caller_kind', 'caller_name', 'tool', 'idempotency_key'],
      unique: true,
      notNull: 'idempotency_key',
    }),
    index(builder, 'operations_by_workspace', {
      on: 'operations',
      columns: ['organisation', 'workspace', 'created_at', 'id'],
    }),
    // What has ended has none of these times, so these stay as small as what is going on.
    index(builder, 'operations_by_due', { on: 'operations', columns: ['state', 'due_at'], notNull: 'due_at' }),
    index(builder, 'operations_by_lease', {
      on: 'operations',
      columns: ['state', 'lease_until'],
      notNull: 'lease_until',
    }),
    index(builder, 'operations_by_expiry', {
      on: 'operations',
      columns: ['state', 'expires_at'],
      notNull: 'expires_at',
    }),
    index(builder, 'operations_by_end', { on: 'operations', columns: ['ended_at'], notNull: 'ended_at' }),
  ]
}

function audit(builder: Builder): readonly string[] {
  return [
    table(builder, 'audit', {
      ...PLACE,
      ...CALLER,
      at: 'integer',
      operation_id: 'text',
      tool: 'text',
      digest: 'text',
      decision: 'text',
      outcome: 'text',
      code: 'text?',
      consent: 'text?',
      mutates: 'integer',
      duration_ms: 'real',
    }),
    index(builder, 'audit_by_workspace', { on: 'audit', columns: ['organisation', 'workspace', 'at', 'id'] }),
    index(builder, 'audit_by_time', { on: 'audit', columns: ['at'] }),
  ]
}

function secrets(builder: Builder): readonly string[] {
  return [
    table(builder, 'secrets', {
      ...PLACE,
      name: 'text',
      kept_in: 'text',
      sealed: 'text?',
      purpose: 'text?',
      created_at: 'integer',
      updated_at: 'integer',
      expires_at: 'integer?',
      last_used_at: 'integer?',
    }),
    index(builder, 'secrets_by_name', { on: 'secrets', columns: ['organisation', 'workspace', 'name'], unique: true }),
  ]
}
