import { type ColumnDataType, type RawBuilder, type SchemaModule, sql } from 'kysely'
import type { DialectName } from './statements.ts'

export interface Builder {
  readonly schema: SchemaModule
  readonly dialect: DialectName
}

type ColumnType = 'text' | 'integer' | 'real' | 'bytes'

/**
 * Column types per database. PostgreSQL compares texts byte by byte, as SQLite does: a locale's order would page differently, and a
 * newer system library could change it under an index.
 */
export const TYPES: Readonly<Record<DialectName, Readonly<Record<ColumnType, ColumnDataType | RawBuilder<unknown>>>>> =
  {
    sqlite: { text: 'text', integer: 'integer', real: 'real', bytes: 'blob' },
    postgres: { text: sql`text collate "C"`, integer: 'bigint', real: 'double precision', bytes: 'bytea' },
  }

/** The owner of a row. */
export const PLACE = { id: 'text', organisation: 'text', workspace: 'text' } as const
const CALLER = { caller_kind: 'text', caller_name: 'text' } as const

/** A table with the primary key `id`. Columns are not null unless their type ends in `?`. */
export function table(
  { schema, dialect }: Builder,
  name: string,
  columns: Readonly<Record<string, ColumnType | `${ColumnType}?`>>,
): string {
  let draft = schema.createTable(name)
  for (const [column, word] of Object.entries(columns)) {
    const type = TYPES[dialect][word.replace('?', '') as ColumnType]
    draft = draft.addColumn(column, type, definition => {
      if (column === 'id') return definition.primaryKey().notNull()
      return word.endsWith('?') ? definition : definition.notNull()
    })
  }
  // Without it SQLite accepts text in a numeric column, and the same row would fail on PostgreSQL.
  if (dialect === 'sqlite') draft = draft.modifyEnd(sql`strict`)
  return draft.compile().sql
}

interface IndexOptions {
  readonly on: string
  readonly columns: readonly string[]
  readonly unique?: boolean
  /** Only rows in which this column is not null. */
  readonly notNull?: string
}

export function index(
  { schema }: Builder,
  name: string,
  { on, columns, unique = false, notNull }: IndexOptions,
): string {
  let draft = schema
    .createIndex(name)
    .on(on)
    .columns([...columns])
  if (unique) draft = draft.unique()
  if (notNull !== undefined) draft = draft.where(sql.ref(notNull), 'is not', null)
  return draft.compile().sql
}

/** For listing every agent's operations, and for pruning. */
export function operationsByTime(builder: Builder): readonly string[] {
  return [
    index(builder, 'operations_by_time', { on: 'operations', columns: ['organisation', 'created_at', 'id'] }),
    index(builder, 'operations_by_keep', { on: 'operations', columns: ['keep_until'], notNull: 'keep_until' }),
  ]
}

/**
 * Before this, the retention time implied whether an operation is a task: a running one had it only as a task, ended ones kept a
 * result only as a task, and a read-only call was recorded for no other reason.
 */
export function tasks({ schema, dialect }: Builder): readonly string[] {
  const column = schema.alterTable('operations').addColumn('ttl_ms', TYPES[dialect].integer)
  return [
    column.compile().sql,
    'update "operations" set "ttl_ms" = "keep_until" - coalesce("ended_at", "created_at") ' +
      'where "keep_until" is not null and ("ended_at" is null or "result" is not null or "mutates" = 0)',
    'update "operations" set "keep_until" = null where "ended_at" is null',
  ]
}

/** Calls recorded before this are not retried automatically. */
export function waiting(builder: Builder): readonly string[] {
  const { schema, dialect } = builder
  const retry = schema
    .alterTable('operations')
    .addColumn('retry', TYPES[dialect].text, definition => definition.notNull().defaultTo('manual'))
  const tellAt = schema.alterTable('operations').addColumn('tell_at', TYPES[dialect].integer)
  return [
    retry.compile().sql,
    tellAt.compile().sql,
    index(builder, 'operations_by_telling', { on: 'operations', columns: ['tell_at', 'id'], notNull: 'tell_at' }),
  ]
}

/** Approvals and grants. */
export function consent(builder: Builder): readonly string[] {
  return [
    table(builder, 'approvals', {
      ...PLACE,
      ...CALLER,
      tool: 'text',
      definition_hash: 'text',
      digest: 'text',
      asks: 'text',
      state: 'text',
      created_at: 'integer',
      expires_at: 'integer',
      answered_at: 'integer?',
      answered_by: 'text?',
      via: 'text?',
      lasting: 'text?',
    }),
    index(builder, 'approvals_by_state', { on: 'approvals', columns: ['organisation', 'state', 'created_at', 'id'] }),
    table(builder, 'grants', {
      ...PLACE,
      ...CALLER,
      operation: 'text',
      scope: 'text?',
      decision: 'text',
      lasting: 'text',
      tool: 'text?',
      digest: 'text?',
      asked_for: 'text?',
      granted_by: 'text',
      via: 'text',
      created_at: 'integer',
      expires_at: 'integer',
      used_by: 'text?',
      used_at: 'integer?',
      revoked_at: 'integer?',
      revoked_by: 'text?',
    }),
    index(builder, 'grants_by_caller', {
      on: 'grants',
      columns: ['organisation', 'workspace', 'caller_name', 'operation', 'expires_at'],
    }),
    index(builder, 'grants_by_expiry', { on: 'grants', columns: ['expires_at'] }),
  ]
}

/**
 * Before this, effects were stored unsealed. Those that may still be verified move to the sealed column, where they are read as they
 * are; the others are deleted, as the arguments were.
 */
export function sealedEffects(builder: Builder): readonly string[] {
  const { schema, dialect } = builder
  const column = schema.alterTable('operations').addColumn('sealed_effects', TYPES[dialect].text)
  return [
    column.compile().sql,
    `update "operations" set "sealed_effects" = "effects" where "effects" <> '[]' and "arguments" is not null`,
    `update "operations" set "effects" = '[]' where "effects" <> '[]'`,
    table(builder, 'results', { ...PLACE, ...CALLER, operation_id: 'text', offset: 'integer', page: 'text' }),
    index(builder, 'results_by_operation', { on: 'results', columns: ['operation_id', 'offset'] }),
  ]
}

/** Pruning uses `keep_until`, while every ended operation paid for this index. */
export function withoutIndexByEnd({ schema }: Builder): readonly string[] {
  return [schema.dropIndex('operations_by_end').compile().sql]
}

/** Earlier results count from the end of their operation. Their size is that of their JSON, which is slightly more. */
export function resultSizes(builder: Builder): readonly string[] {
  const { schema, dialect } = builder
  const createdAt = schema
    .alterTable('results')
    .addColumn('created_at', TYPES[dialect].integer, definition => definition.notNull().defaultTo(0))
  const wholeBytes = schema.alterTable('results').addColumn('whole_bytes', TYPES[dialect].integer)
  const ofOperation = 'from "operations" where "operations"."id" = "results"."operation_id"'
  const ofResult = 'from "results" as "every" where "every"."operation_id" = "results"."operation_id"'
  return [
    createdAt.compile().sql,
    wholeBytes.compile().sql,
    `update "results" set "created_at" = coalesce((select "ended_at" ${ofOperation}), 0)`,
    `update "results" set "whole_bytes" = (select sum(length("every"."page")) ${ofResult}) where "offset" = 0`,
    index(builder, 'results_by_time', {
      on: 'results',
      columns: ['created_at', 'id', 'whole_bytes'],
      notNull: 'whole_bytes',
    }),
  ]
}

/** Answers for single calls become many, and none of them concerns another call. */
export function grantsByLasting(builder: Builder): readonly string[] {
  const columns = ['organisation', 'workspace', 'caller_name', 'operation', 'lasting', 'expires_at']
  return [
    builder.schema.dropIndex('grants_by_caller').compile().sql,
    index(builder, 'grants_by_lasting', { on: 'grants', columns }),
    index(builder, 'grants_by_request', { on: 'grants', columns: ['asked_for'], notNull: 'asked_for' }),
  ]
}

/** Only waiting operations have an expiry and few grants are revoked, so these indexes stay small. */
export function whatIsListed(builder: Builder): readonly string[] {
  return [
    index(builder, 'operations_by_waiting', {
      on: 'operations',
      columns: ['organisation', 'workspace', 'created_at', 'id'],
      notNull: 'expires_at',
    }),
    index(builder, 'grants_by_revocation', { on: 'grants', columns: ['revoked_at'], notNull: 'revoked_at' }),
    builder.schema.dropIndex('audit_by_time').compile().sql,
    index(builder, 'audit_by_time', { on: 'audit', columns: ['organisation', 'at', 'id'] }),
  ]
}

/** Earlier operations have no process to wait for. */
export function sharing(builder: Builder): readonly string[] {
  const { schema, dialect } = builder
  const { text, integer } = TYPES[dialect]
  return [
    schema.alterTable('operations').addColumn('node', text).compile().sql,
    schema.alterTable('operations').addColumn('awaited_until', integer).compile().sql,
    table(builder, 'nodes', {
      ...PLACE,
      host: 'text',
      folder: 'text',
      version: 'text',
      url: 'text?',
      started_at: 'integer',
      lease_until: 'integer',
    }),
  ]
}

/** The first schema. */
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
    // Ended operations have none of these times, so these indexes stay small.
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
