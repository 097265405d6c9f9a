import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { migrated } from './testing/sqlite-migrations.ts'

let database: ReturnType<typeof migrated>
beforeAll(() => void (database = migrated()))
afterAll(() => database.close())

/** How SQLite would go about a question. */
const planOf = (question: string) => JSON.stringify(database.prepare(`explain query plan ${question}`).all())

describe('the migrations', () => {
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
    const plan = planOf(`select id from operations where ${where.replaceAll(/'\w+'|5/g, '?')}`)
    expect(plan).toContain(index)
    expect(plan).not.toContain('TEMP B-TREE')
  })

  it.each([
    ['those of an upstream', `organisation = ? and workspace = ? and upstream = ? order by id`, 'pins_by_upstream'],
    ['what waits for a person', `organisation = ? and workspace = ? and state = ? order by id`, 'pins_by_state'],
  ])('find pins by an index: %s', (_what, where, index) => {
    const plan = planOf(`select id from pins where ${where}`)
    expect(plan).toContain(index)
    expect(plan).not.toContain('TEMP B-TREE')
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
    const plan = planOf(`select id from grants where ${where}`)
    expect(plan).toContain(index)
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
    const plan = planOf(`select id from audit where ${where}`)
    expect(plan).toContain(index)
    expect(plan).not.toContain('TEMP B-TREE')
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
    ['outgoingtasks', 'what is stuck', 'trouble is not null', 'outgoingtasks_by_trouble'],
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
    const plan = planOf(`select id from ${name} where ${where}`)
    expect(plan).toContain(index)
    expect(plan).not.toContain('TEMP B-TREE')
  })

  it('find a page of a result by an index', () => {
    const where = 'operation_id = ? and "offset" <= ? and organisation = ? order by "offset" desc'
    const plan = planOf(`select page from results where ${where}`)
    expect(plan).toContain('results_by_operation')
    expect(plan).not.toContain('TEMP B-TREE')
  })

  it('find the newest results by an index that has their sizes', () => {
    const where = 'whole_bytes is not null order by created_at desc, id desc'
    const plan = planOf(`select id, whole_bytes from results where ${where}`)
    expect(plan).toContain('COVERING INDEX results_by_time')
    expect(plan).not.toContain('TEMP B-TREE')
  })

  it.each([
    ['workspaces', 'organisation = ? and workspace = ?', 'workspaces_by_name'],
    ['workspaces', 'organisation = ? and parent_id in (?, ?)', 'workspaces_by_parent'],
    ['workspaces', 'last_seen_at > ?', 'workspaces_by_sight'],
    ['persons', 'organisation = ? and workspace = ?', 'persons_by_name'],
    ['joincodes', 'hash = ?', 'joincodes_by_hash'],
    ['inbox', 'workspace_id in (?, ?) and conversation_id in (?, ?) order by id', 'inbox_by_sequence'],
    [
      'delegations',
      'organisation in (?, ?) and from_id in (?, ?) and parent_id in (?, ?) and updated_at > ? order by id',
      'delegations_by_asker',
    ],
  ])('find %s by an index: %s', (table, where, index) => {
    const plan = planOf(`select id from ${table} where ${where}`)
    expect(plan).toContain(index)
  })
})
