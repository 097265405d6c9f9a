import { type Builder, index, PLACE, TYPES, table } from './migration-parts.ts'

/** What is known about the servers of others, and which of their definitions were accepted. */
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
    // The id is made of upstream, kind and name, so it is what keeps them unique: addresses are too long for an index.
    index(builder, 'pins_by_upstream', { on: 'pins', columns: ['organisation', 'workspace', 'upstream', 'id'] }),
    index(builder, 'pins_by_state', { on: 'pins', columns: ['organisation', 'workspace', 'state', 'id'] }),
  ]
}

export function listedKinds({ schema, dialect }: Builder): readonly string[] {
  return [schema.alterTable('pins').addColumn('listed_kinds', TYPES[dialect].text).compile().sql]
}

/** What is offered now has had its name since it was seen. */
export function offeredNames({ schema, dialect }: Builder): readonly string[] {
  const add = (column: string, type: 'text' | 'integer') =>
    schema.alterTable('pins').addColumn(column, TYPES[dialect][type]).compile().sql
  return [
    add('offered_as', 'text'),
    add('offered_since', 'integer'),
    `update "pins" set "offered_since" = "seen_at" where "listed" = 1 and "kind" <> 'server' and ("state" = 'accepted' or "accepted_hash" is not null)`,
  ]
}

/** What is in the store was not changed while it was held back: that let it pass. */
export function rewordedPins({ schema, dialect }: Builder): readonly string[] {
  const { text, integer } = TYPES[dialect]
  const pins = schema.alterTable('pins')
  return [
    pins.addColumn('reworded', integer, definition => definition.notNull().defaultTo(0)).compile().sql,
    pins.addColumn('accepted_findings', text).compile().sql,
  ]
}
