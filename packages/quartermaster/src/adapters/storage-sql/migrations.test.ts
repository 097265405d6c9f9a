import { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it } from 'vitest'
import { ROWS } from '../../contracts/index.ts'
import { type ColumnKind, readColumns } from './columns.ts'
import { migrationsFor } from './index.ts'

const SQLITE_TYPES: Readonly<Record<ColumnKind, string>> = {
  text: 'TEXT',
  json: 'TEXT',
  integer: 'INTEGER',
  boolean: 'INTEGER',
  real: 'REAL',
  bytes: 'BLOB',
}

function migrated(): InstanceType<typeof DatabaseSync> {
  const database = new DatabaseSync(':memory:')
  for (const { statements } of migrationsFor('sqlite')) for (const sql of statements) database.exec(sql)
  return database
}

describe('the migrations', () => {
  it('make a column for everything that a row can say, and no other', () => {
    const database = migrated()
    for (const [table, columns] of Object.entries(readColumns())) {
      const made = database
        .prepare(`select name, upper(type) as type, "notnull" from pragma_table_info('${table}')`)
        .all()
      const wanted = [...columns.values()].map(({ sqlName, kind, isNullable }) => ({
        name: sqlName,
        type: SQLITE_TYPES[kind],
        notnull: isNullable ? 0 : 1,
      }))
      expect(made.map((column: object) => ({ ...column }))).toEqual(wanted)
    }
    database.close()
  })

  it('give every table an organisation and a workspace', () => {
    for (const row of Object.values(ROWS))
      expect(Object.keys(row.shape)).toEqual(expect.arrayContaining(['organisation', 'workspace']))
  })

  it.each([
    ['what is due', `state = 'queued' and due_at <= 5`, 'operations_by_due'],
    ['leases that ran out', `state = 'leased' and lease_until <= 5`, 'operations_by_lease'],
    ['what nobody answered in time', `state = 'queued' and expires_at <= 5`, 'operations_by_expiry'],
    ['what a process left behind', `state = 'leased' and lease_until is not null`, 'operations_by_lease'],
    ['what may be forgotten', 'keep_until < 5 and ended_at is not null', 'operations_by_keep'],
    ['everybody’s newest', `organisation = 'o' order by created_at desc, id desc`, 'operations_by_time'],
    [
      'an agent’s newest',
      `organisation = 'o' and workspace = 'w' order by created_at desc, id desc`,
      'operations_by_workspace',
    ],
    [
      'what of an agent’s waits',
      `organisation = 'o' and workspace = 'w' and state in ('a', 'b') and expires_at is not null order by created_at desc, id desc`,
      'operations_by_waiting (organisation=? AND workspace=?)',
    ],
    [
      'a repeated call',
      `organisation = 'o' and workspace = 'w' and caller_kind = 'agent' and caller_name = 'n' and tool = 't' and idempotency_key = 'k'`,
      'operations_by_idempotency_key',
    ],
  ])('find %s by an index', (_what, where, index) => {
    const database = migrated()
    const plan = database
      .prepare(`explain query plan select id from operations where ${where.replaceAll(/'\w+'|5/g, '?')}`)
      .all()
    database.close()
    expect(JSON.stringify(plan)).toContain(index)
    expect(JSON.stringify(plan)).not.toContain('TEMP B-TREE')
  })

  it.each([
    ['those of an upstream', `organisation = ? and workspace = ? and upstream = ? order by id`, 'pins_by_upstream'],
    ['what waits for a person', `organisation = ? and workspace = ? and state = ? order by id`, 'pins_by_state'],
  ])('find pins by an index: %s', (_what, where, index) => {
    const database = migrated()
    const plan = database.prepare(`explain query plan select id from pins where ${where}`).all()
    database.close()
    expect(JSON.stringify(plan)).toContain(index)
    expect(JSON.stringify(plan)).not.toContain('TEMP B-TREE')
  })

  it.each([
    [
      'that last, by what they are for',
      `organisation = ? and workspace = ? and caller_kind = ? and caller_name = ? and operation = ? and scope = ? and lasting in (?, ?) and expires_at > ? and revoked_at is null order by decision desc, id desc limit 1`,
      'grants_by_lasting (organisation=? AND workspace=? AND caller_name=? AND operation=? AND lasting=? AND expires_at>?)',
    ],
    [
      'of one call',
      `caller_kind = ? and caller_name = ? and asked_for = ? and lasting = ? and expires_at > ? and revoked_at is null`,
      'grants_by_request',
    ],
    ['that may be forgotten', 'expires_at < ?', 'grants_by_expiry'],
    ['that were taken back long ago', 'revoked_at < ?', 'grants_by_revocation'],
  ])('find grants by an index: those %s', (_what, where, index) => {
    const database = migrated()
    const plan = database.prepare(`explain query plan select id from grants where ${where}`).all()
    database.close()
    expect(JSON.stringify(plan)).toContain(index)
  })

  it.each([
    ['the newest of all', 'organisation = ? order by at desc, id desc', 'audit_by_time (organisation=?)'],
    [
      'all since then',
      'organisation = ? and at >= ? order by at desc, id desc',
      'audit_by_time (organisation=? AND at>?)',
    ],
    [
      'an agent’s newest',
      'organisation = ? and workspace = ? order by at desc, id desc',
      'audit_by_workspace (organisation=? AND workspace=?)',
    ],
    ['what may be forgotten', 'organisation = ? and at < ?', 'audit_by_time (organisation=? AND at<?)'],
  ])('find lines of the audit by an index: %s', (_what, where, index) => {
    const database = migrated()
    const plan = database.prepare(`explain query plan select id from audit where ${where}`).all()
    database.close()
    expect(JSON.stringify(plan)).toContain(index)
    expect(JSON.stringify(plan)).not.toContain('TEMP B-TREE')
  })

  it.each([
    ['activity', 'the highest number', 'workspace_id = ? order by sequence desc', 'activity_by_sequence'],
    [
      'activity',
      'a page',
      'organisation = ? and workspace_id = ? and sequence > ? order by sequence',
      'activity_by_sequence',
    ],
    [
      'activity',
      'the first since then',
      'organisation = ? and workspace_id = ? and created_at >= ? order by created_at, sequence',
      'activity_by_time',
    ],
    [
      'activity',
      'what two have said',
      'organisation = ? and workspace_id = ? and peer_id = ? order by created_at desc, sequence desc',
      'activity_by_peer',
    ],
    [
      'activity',
      'a conversation of others',
      'workspace_id = ? and conversation_id = ? and peer_id is not ?',
      'activity_by_conversation',
    ],
    [
      'activity',
      'a page of a chat',
      'organisation = ? and workspace_id = ? and conversation_id = ? and peer_kind = ? and sequence < ? order by sequence desc',
      'activity_by_conversation (workspace_id=? AND conversation_id=? AND sequence<?)',
    ],
    ['activity', 'what may be forgotten', 'created_at < ? order by created_at, id', 'activity_by_age'],
    ['activity', 'a repeat', 'sent_key = ?', 'activity_by_sent_key'],
    ['inbox', 'what waits', 'organisation = ? and workspace_id = ? order by sequence', 'inbox_by_sequence'],
    [
      'inbox',
      'what readers have',
      'organisation = ? and workspace_id = ? and lease_until > ? and lease_owner is not ? order by lease_until, sequence',
      'inbox_by_lease',
    ],
    ['delegations', 'a repeat', 'ask_key = ?', 'delegations_by_key'],
    ['delegations', 'taken places', 'to_id = ? and slot >= 1', 'delegations_by_slot'],
    ['delegations', 'what is due', 'due_at >= 0 and deadline_at <= ? order by deadline_at, id', 'delegations_by_due'],
    [
      'delegations',
      'what waits longest for a peer',
      "organisation = ? and to_id = ? and state = 'queued' order by created_at, id",
      'delegations_by_peer',
    ],
    [
      'delegations',
      'what somebody has asked for',
      'organisation = ? and from_id = ? order by created_at desc, id desc',
      'delegations_by_asker',
    ],
    [
      'delegations',
      'what one has given another',
      'organisation = ? and from_id = ? and to_id = ? order by updated_at desc, id desc',
      'delegations_by_change',
    ],
    ['delegations', 'all of them', 'organisation = ? order by created_at desc, id desc', 'delegations_by_place'],
    ['delegations', 'what may be forgotten', 'ended_at < ? order by ended_at, id', 'delegations_by_end'],
    [
      'externalpeers',
      'cards to be looked at',
      'next_check_at <= ? order by next_check_at, id',
      'externalpeers_by_check',
    ],
    ['outgoingtasks', 'what is due', 'next_at <= ? order by next_at, id', 'outgoingtasks_by_next'],
    ['memories', 'the newest of a shelf', 'organisation = ? and shelf = ? order by slot desc', 'memories_by_shelf'],
    ['memories', 'the same content', 'shelf = ? and digest = ?', 'memories_by_content'],
    ['memories', 'the last of an author', 'shelf = ? and workspace_id = ? order by slot desc', 'memories_by_author'],
    [
      'memories',
      'the last of a conversation',
      'shelf = ? and conversation_id = ? order by slot desc',
      'memories_by_conversation',
    ],
    [
      'memories',
      'what stands behind others',
      'organisation = ? and shelf in (?, ?) and slot <= ? and previous_id in (?, ?)',
      'memories_by_previous',
    ],
  ])('find rows of the table %s by an index: %s', (name, _what, where, index) => {
    const database = migrated()
    const plan = database.prepare(`explain query plan select id from ${name} where ${where}`).all()
    database.close()
    expect(JSON.stringify(plan)).toContain(index)
    expect(JSON.stringify(plan)).not.toContain('TEMP B-TREE')
  })

  it('find a page of a result by an index', () => {
    const database = migrated()
    const where = 'operation_id = ? and "offset" <= ? and organisation = ? order by "offset" desc'
    const plan = database.prepare(`explain query plan select page from results where ${where}`).all()
    database.close()
    expect(JSON.stringify(plan)).toContain('results_by_operation')
    expect(JSON.stringify(plan)).not.toContain('TEMP B-TREE')
  })

  it('find the newest results by an index that has their sizes', () => {
    const database = migrated()
    const where = 'whole_bytes is not null order by created_at desc, id desc'
    const plan = database.prepare(`explain query plan select id, whole_bytes from results where ${where}`).all()
    database.close()
    expect(JSON.stringify(plan)).toContain('COVERING INDEX results_by_time')
    expect(JSON.stringify(plan)).not.toContain('TEMP B-TREE')
  })

  it('count what the results of an older store take', () => {
    const database = new DatabaseSync(':memory:')
    const steps = migrationsFor('sqlite')
    const at = steps.findIndex(({ name }) => name === 'how much room results take')
    const run = (some: typeof steps) => some.forEach(one => one.statements.forEach(sql => void database.exec(sql)))
    run(steps.slice(0, at))
    database.exec(
      `insert into operations (id, organisation, workspace, caller_kind, caller_name, tool, definition_hash, mutates,
        digest, state, attempts, fence, effects, created_at, updated_at, ended_at)
        values ('a', 'o', 'w', 'agent', 'w', 't', 'h', 1, 'd', 'succeeded', 1, 1, '[]', 100, 100, 200)`,
    )
    for (const [id, offset, page] of [
      ['a.0', 0, '{"text":"x"}'],
      ['a.1', 1, '{"text":"yy"}'],
    ])
      database
        .prepare(`insert into results values (?, 'o', 'w', 'agent', 'w', 'a', ?, ?)`)
        .run(id ?? '', offset ?? 0, page ?? '')
    run(steps.slice(at))
    const rows = database.prepare('select id, created_at, whole_bytes from results order by id').all()
    database.close()
    expect(rows.map((row: object) => Object.values(row))).toEqual([
      ['a.0', 200, 25],
      ['a.1', 200, null],
    ])
  })

  it('keep of the effects in the open of an older store those that somebody may still look for', () => {
    const database = new DatabaseSync(':memory:')
    const steps = migrationsFor('sqlite')
    const at = steps.findIndex(({ name }) => name === 'sealed effects, whole results')
    const run = (some: typeof steps) => some.forEach(one => one.statements.forEach(sql => void database.exec(sql)))
    run(steps.slice(0, at))
    const keep = (id: string, sealedArguments: string | null, effects: string) =>
      database
        .prepare(
          `insert into operations (id, organisation, workspace, caller_kind, caller_name, tool, definition_hash, mutates,
            digest, state, attempts, fence, effects, created_at, updated_at, arguments)
            values (?, 'o', 'w', 'agent', 'w', 't', 'h', 1, 'd', 'unknown', 1, 1, ?, 100, 100, ?)`,
        )
        .run(id, effects, sealedArguments)
    keep('a', 's1.x.y', '[{"name":"note"}]')
    keep('b', null, '[{"name":"note"}]')
    keep('c', 's1.x.y', '[]')
    run(steps.slice(at))
    const rows = database.prepare('select id, effects, sealed_effects from operations order by id').all()
    database.close()
    expect(rows.map((row: object) => Object.values(row))).toEqual([
      ['a', '[]', '[{"name":"note"}]'],
      ['b', '[]', null],
      ['c', '[]', null],
    ])
  })

  it('tell which operations of an older store are tasks', () => {
    const database = new DatabaseSync(':memory:')
    const run = (statements: readonly string[]) => statements.forEach(statement => void database.exec(statement))
    const [first, second, third] = migrationsFor('sqlite')
    for (const step of [first, second]) run(step?.statements ?? [])
    const keep = (id: string, times: { ended: number | null; keep: number | null; result: string | null }) =>
      database
        .prepare(
          `insert into operations (id, organisation, workspace, caller_kind, caller_name, tool, definition_hash, mutates,
            digest, state, attempts, fence, effects, created_at, updated_at, ended_at, keep_until, result)
            values (?, 'o', 'w', 'agent', 'w', 't', 'h', 1, 'd', 'leased', 1, 1, '[]', 100, 100, ?, ?, ?)`,
        )
        .run(id, times.ended, times.keep, times.result)
    keep('a running call', { ended: null, keep: null, result: null })
    keep('a running task', { ended: null, keep: 160, result: null })
    keep('an ended call', { ended: 200, keep: 900, result: null })
    keep('an ended task', { ended: 200, keep: 260, result: '{}' })
    run(third?.statements ?? [])
    const rows = database.prepare('select id, ttl_ms, keep_until from operations order by id').all()
    database.close()
    expect(rows.map((row: object) => Object.values(row))).toEqual([
      ['a running call', null, null],
      ['a running task', 60, null],
      ['an ended call', null, 900],
      ['an ended task', 60, 260],
    ])
  })

  it('give an account to every person who has a token', () => {
    const database = new DatabaseSync(':memory:')
    const steps = migrationsFor('sqlite')
    const at = steps.findIndex(({ name }) => name === 'organisations, workspaces, persons, join codes')
    const run = (some: typeof steps) => some.forEach(one => one.statements.forEach(sql => void database.exec(sql)))
    run(steps.slice(0, at))
    const tokens = [
      ['t1', 'person', 'eve', 20, 'null'],
      ['t2', 'person', 'eve', 10, 'null'],
      ['t3', 'person', 'gone', 10, '15'],
      ['t4', 'agent', 'ada', 10, 'null'],
    ]
    for (const [id, kind, name, createdAt, revokedAt] of tokens)
      database.exec(
        `insert into tokens (id, organisation, workspace, caller_kind, caller_name, hash, scopes, created_at, revoked_at)
         values ('${id}', 'default', '${name}', '${kind}', '${name}', '${id}', '[]', ${createdAt}, ${revokedAt})`,
      )
    run(steps.slice(at))
    const rows = database.prepare('select id, organisation, workspace, created_at from persons').all()
    const left = database.prepare('select count(*) as count from tokens').get()
    database.close()
    expect(rows.map((row: object) => Object.values(row))).toEqual([['person_default_eve', 'default', 'eve', 10]])
    expect({ ...left }).toEqual({ count: 4 })
  })

  it('find the memories of an older store by their words, on their own shelf alone', () => {
    const database = new DatabaseSync(':memory:')
    const steps = migrationsFor('sqlite')
    const at = steps.findIndex(({ name }) => name === 'words of memories by their shelf')
    const run = (some: typeof steps) => some.forEach(one => one.statements.forEach(sql => void database.exec(sql)))
    run(steps.slice(0, at))
    const keep = (slot: number, shelf: string, words: string) =>
      database.exec(
        `insert into memories (id, organisation, workspace, slot, workspace_id, scope, shelf, content, digest, words, version,
          created_at, updated_at, updated_by)
          values ('m${slot}', 'o', 'w', ${slot}, 'w', 'LOCAL', '${shelf}', '', '${slot}', '${words}', 1, 1, 1, 'w')`,
      )
    keep(1, 'la', 'red boat')
    keep(2, 'lb', 'red car')
    run(steps.slice(at))
    keep(3, 'la', 'blue boat')
    database.exec(`update memories set shelf = 'la' where slot = 2`)
    database.exec('delete from memories where slot = 3')
    const found = (word: string) =>
      database
        .prepare('select rowid from memory_words where memory_words match ? order by 1')
        .all(`"${word}"`)
        .map((row: object) => Object.values(row)[0])
    expect([found('lared'), found('laboat'), found('lacar'), found('lbred')]).toEqual([[1, 2], [1], [2], []])
    database.close()
  })

  it.each([
    ['workspaces', 'organisation = ? and workspace = ?', 'workspaces_by_name'],
    ['workspaces', 'organisation = ? and parent_id in (?, ?)', 'workspaces_by_parent'],
    ['workspaces', 'last_seen_at > ?', 'workspaces_by_sight'],
    ['persons', 'organisation = ? and workspace = ?', 'persons_by_name'],
    ['joincodes', 'hash = ?', 'joincodes_by_hash'],
  ])('find %s by an index: %s', (table, where, index) => {
    const database = migrated()
    const plan = database.prepare(`explain query plan select id from ${table} where ${where}`).all()
    database.close()
    expect(JSON.stringify(plan)).toContain(index)
  })

  it('speak to PostgreSQL of the same tables with its own types', () => {
    const tables = migrationsFor('postgres').flatMap(({ statements }) => statements)
    const audit = tables.find(sql => sql.startsWith('create table "audit"'))
    const text = 'text collate "C"'
    expect(audit).toBe(
      `create table "audit" ("id" ${text} not null primary key, "organisation" ${text} not null, "workspace" ${text} not null, ` +
        `"caller_kind" ${text} not null, "caller_name" ${text} not null, "at" bigint not null, "operation_id" ${text} not null, ` +
        `"tool" ${text} not null, "digest" ${text} not null, "decision" ${text} not null, "outcome" ${text} not null, "code" ${text}, ` +
        `"consent" ${text}, "mutates" bigint not null, "duration_ms" double precision not null)`,
    )
    expect(tables).toContain(
      'create index "operations_by_due" on "operations" ("state", "due_at") where "due_at" is not null',
    )
    // Each database has an index of words of its own.
    const shared = (sql: string) => !/memor(?:y|ies)_(?:words|by_words|added|changed|removed)/.test(sql)
    const others = migrationsFor('sqlite').flatMap(({ statements }) => statements)
    expect(tables.filter(shared)).toHaveLength(others.filter(shared).length)
  })
})
