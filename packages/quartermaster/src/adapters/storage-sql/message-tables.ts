import { type Builder, index, PLACE, TYPES, table } from './operation-tables.ts'

/** Memories, with an index of their words. */
export function memoryTables(builder: Builder): readonly string[] {
  const on = 'memories'
  return [
    table(builder, on, {
      ...PLACE,
      slot: 'integer',
      workspace_id: 'text',
      scope: 'text',
      shelf: 'text',
      content: 'text',
      digest: 'text',
      words: 'text',
      version: 'integer',
      conversation_id: 'text?',
      operation_id: 'text?',
      previous_id: 'text?',
      created_at: 'integer',
      updated_at: 'integer',
      updated_by: 'text',
    }),
    index(builder, 'memories_by_slot', { on, columns: ['slot'], unique: true }),
    index(builder, 'memories_by_content', { on, columns: ['shelf', 'digest'], unique: true }),
    index(builder, 'memories_by_shelf', { on, columns: ['organisation', 'shelf', 'slot'] }),
    index(builder, 'memories_by_author', { on, columns: ['shelf', 'workspace_id', 'slot'] }),
    index(builder, 'memories_by_conversation', { on, columns: ['shelf', 'conversation_id', 'slot'] }),
    index(builder, 'memories_by_previous', { on, columns: ['organisation', 'shelf', 'previous_id', 'slot'] }),
    ...(builder.dialect === 'sqlite' ? SQLITE_WORDS : POSTGRES_WORDS),
  ]
}

/**
 * The words are already split and stemmed, so the tokenizer only splits at spaces: `ascii` treats everything beyond ASCII as
 * letters. Word positions are not queried, so they are not stored.
 */
const SQLITE_WORDS = [
  `create virtual table "memory_words" using fts5("shelf", "words", content='', contentless_delete=1, detail=column, tokenize='ascii')`,
  'create trigger "memories_added" after insert on "memories" begin ' +
    'insert into "memory_words" ("rowid", "shelf", "words") values (new."slot", new."shelf", new."words"); end',
  'create trigger "memories_changed" after update of "shelf", "words" on "memories" begin ' +
    'insert or replace into "memory_words" ("rowid", "shelf", "words") values (new."slot", new."shelf", new."words"); end',
  'create trigger "memories_removed" after delete on "memories" begin ' +
    'delete from "memory_words" where "rowid" = old."slot"; end',
]

/**
 * The scope (column "shelf") is among the words, so one index serves both. The words are stored split: a word that most rows have
 * is searched in the rows themselves, and splitting them each time would dominate.
 */
const POSTGRES_WORDS = [
  `alter table "memories" add column "memory_words" text[] generated always as (string_to_array("shelf" || ' ' || "words", ' ')) stored`,
  'create index "memories_by_words" on "memories" using gin ("memory_words")',
]

/**
 * Prefixes each word with its scope, so that an index entry lists the rows of one scope only. Without that, all rows of a scope
 * were scanned for each word of a query.
 */
export function wordsByScope({ dialect }: Builder): readonly string[] {
  return dialect === 'sqlite' ? SQLITE_SHELVED : POSTGRES_SHELVED
}

const scoped = (row: string) => `${row}"shelf" || replace(${row}"words", ' ', ' ' || ${row}"shelf")`

const SQLITE_SHELVED = [
  'drop trigger "memories_added"',
  'drop trigger "memories_changed"',
  'drop trigger "memories_removed"',
  'drop table "memory_words"',
  `create virtual table "memory_words" using fts5("words", content='', contentless_delete=1, detail=none, tokenize='ascii')`,
  `insert into "memory_words" ("rowid", "words") select "slot", ${scoped('')} from "memories"`,
  'create trigger "memories_added" after insert on "memories" begin ' +
    `insert into "memory_words" ("rowid", "words") values (new."slot", ${scoped('new.')}); end`,
  'create trigger "memories_changed" after update of "shelf", "words" on "memories" begin ' +
    `insert or replace into "memory_words" ("rowid", "words") values (new."slot", ${scoped('new.')}); end`,
  'create trigger "memories_removed" after delete on "memories" begin ' +
    'delete from "memory_words" where "rowid" = old."slot"; end',
]

/** The `wordKey` of every word of a row. */
const keysOf = (row: string) =>
  `select distinct ('x' || encode(substring(sha256(convert_to(${row}"shelf" || "w", 'UTF8')) from 1 for 8), 'hex'))::bit(64)::bigint ` +
  `from unnest(string_to_array(${row}"words", ' ')) as "w"`

/**
 * A table in reading order: the rows of a word, newest first, up to a limit. GIN is unordered and returns all rows of a word, or
 * the planner scans the table instead.
 */
const POSTGRES_SHELVED = [
  'drop index "memories_by_words"',
  'alter table "memories" drop column "memory_words"',
  'create table "memory_words" ("word" bigint not null, "slot" bigint not null, primary key ("word", "slot"))',
  `insert into "memory_words" select "k"."key", "m"."slot" from "memories" as "m", lateral (${keysOf('"m".')}) as "k" ("key")`,
  'create function "keep_memory_words"() returns trigger language plpgsql as $$ begin ' +
    `if tg_op <> 'INSERT' then delete from "memory_words" where "slot" = old."slot" and "word" in (${keysOf('old.')}); end if; ` +
    `if tg_op <> 'DELETE' then insert into "memory_words" select "k"."key", new."slot" from (${keysOf('new.')}) as "k" ("key"); end if; ` +
    'return null; end $$',
  'create trigger "memories_kept" after insert or update of "shelf", "words" or delete on "memories" ' +
    'for each row execute function "keep_memory_words"()',
]

/** Delegations between workspaces. */
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

/** Activity logs and inboxes. */
export function messageTables(builder: Builder): readonly string[] {
  return [...activity(builder), ...inbox(builder)]
}

/** For protocols in which the sender assigns the message id. */
export function senderNames({ schema, dialect }: Builder): readonly string[] {
  return [schema.alterTable('activity').addColumn('sender_message_id', TYPES[dialect].text).compile().sql]
}

function activity(builder: Builder): readonly string[] {
  const on = 'activity'
  return [
    table(builder, on, {
      ...PLACE,
      workspace_id: 'text',
      sequence: 'integer',
      type: 'text',
      kind: 'text',
      direction: 'text',
      peer_kind: 'text',
      peer_id: 'text',
      peer_name: 'text',
      conversation_id: 'text',
      message_id: 'text',
      in_reply_to: 'text?',
      text: 'text',
      parts: 'text',
      attachments: 'text',
      delegation_id: 'text?',
      sent_key: 'text?',
      body_digest: 'text?',
      created_at: 'integer',
    }),
    index(builder, 'activity_by_sequence', { on, columns: ['workspace_id', 'sequence'], unique: true }),
    index(builder, 'activity_by_time', { on, columns: ['workspace_id', 'created_at', 'sequence'] }),
    index(builder, 'activity_by_peer', { on, columns: ['workspace_id', 'peer_id', 'created_at', 'sequence'] }),
    // In reading order, and with the peer, so that ownership is checked without another read.
    index(builder, 'activity_by_conversation', {
      on,
      columns: ['workspace_id', 'conversation_id', 'sequence', 'peer_id'],
    }),
    index(builder, 'activity_by_age', { on, columns: ['created_at', 'id'] }),
    index(builder, 'activity_by_sent_key', { on, columns: ['sent_key'], unique: true, notNull: 'sent_key' }),
  ]
}

function inbox(builder: Builder): readonly string[] {
  const on = 'inbox'
  return [
    table(builder, on, {
      ...PLACE,
      workspace_id: 'text',
      sequence: 'integer',
      conversation_id: 'text',
      lease_owner: 'text?',
      lease_until: 'integer?',
    }),
    index(builder, 'inbox_by_sequence', { on, columns: ['workspace_id', 'sequence'], unique: true }),
    index(builder, 'inbox_by_lease', {
      on,
      columns: ['workspace_id', 'lease_until', 'sequence'],
      notNull: 'lease_until',
    }),
  ]
}
