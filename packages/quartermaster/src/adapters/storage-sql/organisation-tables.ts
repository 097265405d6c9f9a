import { type Builder, index, PLACE, table } from './migration-parts.ts'

/** Organisations, their workspaces and persons, and what one joins with. Whoever has a person's token by now has an account. */
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
