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
