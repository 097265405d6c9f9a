import { type Builder, index, PLACE, TYPES, table } from './operation-tables.ts'

/** Organisations, workspaces, persons and join codes. Persons that have a token at this time get an account. */
export function organisationTables(builder: Builder): readonly string[] {
  return [...organisations(builder), ...workspaces(builder), ...persons(builder), ...joinCodes(builder)]
}

function organisations(builder: Builder): readonly string[] {
  return [
    table(builder, 'organisations', { ...PLACE, title: 'text?', created_at: 'integer' }),
    index(builder, 'organisations_by_name', { on: 'organisations', columns: ['organisation'], unique: true }),
  ]
}

function workspaces(builder: Builder): readonly string[] {
  return [
    table(builder, 'workspaces', {
      ...PLACE,
      parent_id: 'text?',
      role: 'text',
      abilities: 'text',
      status: 'text',
      origin: 'text',
      delivery: 'text',
      capacity: 'integer?',
      description: 'text?',
      card: 'text?',
      created_at: 'integer',
      registered_at: 'integer?',
      last_seen_at: 'integer?',
    }),
    index(builder, 'workspaces_by_name', {
      on: 'workspaces',
      columns: ['organisation', 'workspace'],
      unique: true,
    }),
    index(builder, 'workspaces_by_parent', {
      on: 'workspaces',
      columns: ['organisation', 'parent_id', 'workspace'],
    }),
    index(builder, 'workspaces_by_sight', { on: 'workspaces', columns: ['last_seen_at'], notNull: 'last_seen_at' }),
  ]
}

function persons(builder: Builder): readonly string[] {
  return [
    table(builder, 'persons', { ...PLACE, title: 'text?', created_at: 'integer' }),
    index(builder, 'persons_by_name', { on: 'persons', columns: ['organisation', 'workspace'], unique: true }),
    'insert into "persons" ("id", "organisation", "workspace", "created_at") ' +
      `select 'person_' || "organisation" || '_' || "caller_name", "organisation", "caller_name", min("created_at") ` +
      `from "tokens" where "caller_kind" = 'person' and "revoked_at" is null group by "organisation", "caller_name"`,
  ]
}

function joinCodes(builder: Builder): readonly string[] {
  return [
    table(builder, 'joincodes', {
      ...PLACE,
      parent_id: 'text',
      hash: 'text',
      name: 'text?',
      role: 'text',
      abilities: 'text',
      created_at: 'integer',
      expires_at: 'integer',
      used_at: 'integer?',
      used_by: 'text?',
      revoked_at: 'integer?',
    }),
    index(builder, 'joincodes_by_hash', { on: 'joincodes', columns: ['hash'], unique: true }),
    index(builder, 'joincodes_by_time', { on: 'joincodes', columns: ['organisation', 'created_at', 'id'] }),
  ]
}

/** Facts about upstreams, and their accepted definitions. */
export function upstreamTables(builder: Builder): readonly string[] {
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
    // The id consists of upstream, kind and name, so it keeps them unique; resource URIs are too long for an index.
    index(builder, 'pins_by_upstream', { on: 'pins', columns: ['organisation', 'workspace', 'upstream', 'id'] }),
    index(builder, 'pins_by_state', { on: 'pins', columns: ['organisation', 'workspace', 'state', 'id'] }),
  ]
}

export function listedKinds({ schema, dialect }: Builder): readonly string[] {
  return [schema.alterTable('pins').addColumn('listed_kinds', TYPES[dialect].text).compile().sql]
}

/** Definitions offered now have had their name since they were seen. */
export function offeredNames({ schema, dialect }: Builder): readonly string[] {
  const add = (column: string, type: 'text' | 'integer') =>
    schema.alterTable('pins').addColumn(column, TYPES[dialect][type]).compile().sql
  return [
    add('offered_as', 'text'),
    add('offered_since', 'integer'),
    `update "pins" set "offered_since" = "seen_at" where "listed" = 1 and "kind" <> 'server' and ("state" = 'accepted' or "accepted_hash" is not null)`,
  ]
}

/** Stored definitions did not change while they were held back; otherwise they would not be stored as accepted. */
export function rewordedPins({ schema, dialect }: Builder): readonly string[] {
  const { text, integer } = TYPES[dialect]
  const pins = schema.alterTable('pins')
  return [
    pins.addColumn('reworded', integer, definition => definition.notNull().defaultTo(0)).compile().sql,
    pins.addColumn('accepted_findings', text).compile().sql,
  ]
}

/** External A2A agents, and the tasks sent to them. */
export function externalPeerTables(builder: Builder): readonly string[] {
  const peers = 'externalpeers'
  const tasks = 'outgoingtasks'
  return [
    table(builder, peers, {
      ...PLACE,
      card_url: 'text',
      hosts: 'text',
      secret: 'text?',
      header: 'text?',
      url: 'text',
      binding: 'text',
      tenant: 'text?',
      streaming: 'integer',
      checked_at: 'integer',
      next_check_at: 'integer',
      error: 'text?',
      version: 'integer',
    }),
    index(builder, 'externalpeers_by_check', { on: peers, columns: ['next_check_at', 'id'] }),
    table(builder, tasks, {
      ...PLACE,
      peer_id: 'text',
      remote_id: 'text?',
      context_id: 'text?',
      attempts: 'integer',
      next_at: 'integer',
      trouble: 'text?',
      lease_owner: 'text?',
      lease_until: 'integer?',
      version: 'integer',
    }),
    index(builder, 'outgoingtasks_by_next', { on: tasks, columns: ['next_at', 'id'] }),
  ]
}

/** Metrics read these every few seconds, and mostly there are none. */
export function stuckTasks(builder: Builder): readonly string[] {
  const on = 'outgoingtasks'
  return [index(builder, 'outgoingtasks_by_trouble', { on, columns: ['peer_id', 'id'], notNull: 'trouble' })]
}

/** The data folder that runs an agent, and leases for what one process runs at a time. */
export function nodeTables(builder: Builder): readonly string[] {
  return [
    table(builder, 'seats', { ...PLACE, folder: 'text' }),
    index(builder, 'seats_by_name', { on: 'seats', columns: ['organisation', 'workspace', 'folder'], unique: true }),
    table(builder, 'leases', {
      ...PLACE,
      holder: 'text',
      host: 'text',
      folder: 'text',
      lease_until: 'integer',
    }),
  ]
}

/** Attachments, their content, and the messages that use them. */
export function attachmentTables(builder: Builder): readonly string[] {
  return [...attachments(builder), ...content(builder), ...uses(builder)]
}

function attachments(builder: Builder): readonly string[] {
  const loose = { on: 'attachments', notNull: 'loose_since' }
  return [
    table(builder, 'attachments', {
      ...PLACE,
      workspace_id: 'text?',
      blob_id: 'text',
      name: 'text',
      media_type: 'text',
      size: 'integer',
      sha256: 'text',
      created_at: 'integer',
      loose_since: 'integer?',
    }),
    index(builder, 'attachments_by_blob', { on: 'attachments', columns: ['blob_id'] }),
    index(builder, 'attachments_by_looseness', { ...loose, columns: ['loose_since'] }),
    index(builder, 'attachments_by_holder', { ...loose, columns: ['organisation', 'workspace'] }),
  ]
}

function content(builder: Builder): readonly string[] {
  return [
    table(builder, 'blobs', { ...PLACE, state: 'text', size: 'integer', sha256: 'text?', created_at: 'integer' }),
    index(builder, 'blobs_by_sha256', { on: 'blobs', columns: ['organisation', 'sha256'], unique: true }),
    index(builder, 'blobs_by_state', { on: 'blobs', columns: ['state', 'created_at'] }),
    table(builder, 'chunks', { ...PLACE, blob_id: 'text', position: 'integer', bytes: 'bytes' }),
    index(builder, 'chunks_by_blob', { on: 'chunks', columns: ['blob_id', 'position'], unique: true }),
  ]
}

function uses(builder: Builder): readonly string[] {
  const on = 'attachmentuses'
  return [
    table(builder, on, { ...PLACE, attachment_id: 'text', workspace_id: 'text', activity_id: 'text' }),
    index(builder, 'attachmentuses_by_attachment', { on, columns: ['attachment_id', 'workspace_id'] }),
    index(builder, 'attachmentuses_by_activity', { on, columns: ['activity_id'] }),
  ]
}
