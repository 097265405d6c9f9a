import { createSqlWriter, type DialectName } from './dialect.ts'
import { type Builder, CALLER, index, PLACE, TYPES, table } from './migration-parts.ts'
import { organisationTables } from './organisation-tables.ts'

/** One step from one shape of the database to the next. Once released it is never changed; the next one is added. */
export interface Migration {
  readonly version: number
  readonly name: string
  readonly statements: readonly string[]
}

/** Every step, in order. */
export function migrationsFor(dialect: DialectName): readonly Migration[] {
  const { schema } = createSqlWriter(dialect)
  return STEPS.map(({ name, build }, i) => ({ version: i + 1, name, statements: build({ schema, dialect }) }))
}

const STEPS: readonly { readonly name: string; build(builder: Builder): readonly string[] }[] = [
  { name: 'tokens, operations, audit, secrets', build: firstTables },
  { name: 'operations by time', build: operationsByTime },
  { name: 'which operations are tasks', build: tasks },
  { name: 'upstreams, pins', build: upstreamTables },
  { name: 'what an upstream has listed', build: listedKinds },
  { name: 'what may be tried again, and what is to be told', build: waiting },
  { name: 'approvals, grants', build: consent },
  { name: 'sealed effects, whole results', build: sealedEffects },
  { name: 'no index that nobody reads', build: withoutIndexByEnd },
  { name: 'how much room results take', build: resultRoom },
  { name: 'grants that last apart from those for one call', build: grantsByLasting },
  { name: 'what waits, what was taken back, and the audit of all', build: whatIsListed },
  { name: 'processes that share a store', build: sharing },
  { name: 'organisations, workspaces, persons, join codes', build: organisationTables },
]

function firstTables(builder: Builder): readonly string[] {
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

/** For whoever looks at what everybody did, and for what may be forgotten. */
function operationsByTime(builder: Builder): readonly string[] {
  return [
    index(builder, 'operations_by_time', { on: 'operations', columns: ['organisation', 'created_at', 'id'] }),
    index(builder, 'operations_by_keep', { on: 'operations', columns: ['keep_until'], notNull: 'keep_until' }),
  ]
}

/**
 * Until here the time that something is kept stood in for whether it is a task. A running one was given it only as a task,
 * and of what has ended only tasks kept a result. A call that only reads was on record for no other reason.
 */
function tasks({ schema, dialect }: Builder): readonly string[] {
  const column = schema.alterTable('operations').addColumn('ttl_ms', TYPES[dialect].integer)
  return [
    column.compile().sql,
    'update "operations" set "ttl_ms" = "keep_until" - coalesce("ended_at", "created_at") ' +
      'where "keep_until" is not null and ("ended_at" is null or "result" is not null or "mutates" = 0)',
    'update "operations" set "keep_until" = null where "ended_at" is null',
  ]
}

/** What is known about the servers of others, and which of their definitions were accepted. */
function upstreamTables(builder: Builder): readonly string[] {
  return [
    table(builder, 'upstreams', {
      ...PLACE,
      name: 'text',
      era: 'text?',
      server: 'text?',
      fingerprint: 'text?',
      first_seen_at: 'integer',
      last_seen_at: 'integer',
    }),
    index(builder, 'upstreams_by_name', {
      on: 'upstreams',
      columns: ['organisation', 'workspace', 'name'],
      unique: true,
    }),
    table(builder, 'pins', {
      ...PLACE,
      upstream: 'text',
      kind: 'text',
      name: 'text',
      hash: 'text',
      definition: 'text',
      state: 'text',
      first_sight: 'integer',
      listed: 'integer',
      accepted_hash: 'text?',
      accepted_definition: 'text?',
      findings: 'text',
      seen_at: 'integer',
      decided_at: 'integer?',
      decided_by: 'text?',
    }),
    // The id is made of upstream, kind and name, so it is what keeps them unique: addresses are too long for an index.
    index(builder, 'pins_by_upstream', { on: 'pins', columns: ['organisation', 'workspace', 'upstream', 'id'] }),
    index(builder, 'pins_by_state', { on: 'pins', columns: ['organisation', 'workspace', 'state', 'id'] }),
  ]
}

function listedKinds({ schema, dialect }: Builder): readonly string[] {
  return [schema.alterTable('pins').addColumn('listed_kinds', TYPES[dialect].text).compile().sql]
}

/** What was called before anybody noted it is left to a person. */
function waiting(builder: Builder): readonly string[] {
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

/** What persons are asked, and what they answered. */
function consent(builder: Builder): readonly string[] {
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
 * Until here effects stood in the open. Those that somebody may still look for move to where they are read as they are;
 * the others are forgotten, as the arguments were.
 */
function sealedEffects(builder: Builder): readonly string[] {
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

/** What is forgotten is found by `keep_until`; every end paid for this one. */
function withoutIndexByEnd({ schema }: Builder): readonly string[] {
  return [schema.dropIndex('operations_by_end').compile().sql]
}

/** What was kept before counts from the end of its operation. Its size is that of its JSON, which is a little more. */
function resultRoom(builder: Builder): readonly string[] {
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

/** Answers for single calls become many, and none of them says anything about another call. */
function grantsByLasting(builder: Builder): readonly string[] {
  const columns = ['organisation', 'workspace', 'caller_name', 'operation', 'lasting', 'expires_at']
  return [
    builder.schema.dropIndex('grants_by_caller').compile().sql,
    index(builder, 'grants_by_lasting', { on: 'grants', columns }),
    index(builder, 'grants_by_request', { on: 'grants', columns: ['asked_for'], notNull: 'asked_for' }),
  ]
}

/** Only what waits has an expiry, and little is taken back: these two stay small. The audit has as many indexes as before. */
function whatIsListed(builder: Builder): readonly string[] {
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

/** Operations that are known before this have no process that anybody would wait for. */
function sharing(builder: Builder): readonly string[] {
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
