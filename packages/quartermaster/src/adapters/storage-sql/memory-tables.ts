import { type Builder, index, PLACE, table } from './migration-parts.ts'

/** What workspaces remember, with an index of its words. */
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
 * The words are cut and stemmed by us, so the tokenizer only has to split at spaces: that of ASCII takes everything that is not
 * ASCII for letters. Where in a text a word stands is not asked, so it is not kept.
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
 * The shelf is among the words, so that one index answers for both. They are kept cut, because a word that most rows have is looked
 * for in the rows themselves, and to cut the words of each would take most of the time.
 */
const POSTGRES_WORDS = [
  `alter table "memories" add column "memory_words" text[] generated always as (string_to_array("shelf" || ' ' || "words", ' ')) stored`,
  'create index "memories_by_words" on "memories" using gin ("memory_words")',
]

/**
 * Each word with the shelf before it, which is as long for every row. So what the index has under a word are the rows of one shelf
 * alone: beside the words, a shelf with all of its rows was looked through for each word of a question.
 */
export function wordsByShelf({ dialect }: Builder): readonly string[] {
  return dialect === 'sqlite' ? SQLITE_SHELVED : POSTGRES_SHELVED
}

const shelved = (row: string) => `${row}"shelf" || replace(${row}"words", ' ', ' ' || ${row}"shelf")`

const SQLITE_SHELVED = [
  'drop trigger "memories_added"',
  'drop trigger "memories_changed"',
  'drop trigger "memories_removed"',
  'drop table "memory_words"',
  `create virtual table "memory_words" using fts5("words", content='', contentless_delete=1, detail=none, tokenize='ascii')`,
  `insert into "memory_words" ("rowid", "words") select "slot", ${shelved('')} from "memories"`,
  'create trigger "memories_added" after insert on "memories" begin ' +
    `insert into "memory_words" ("rowid", "words") values (new."slot", ${shelved('new.')}); end`,
  'create trigger "memories_changed" after update of "shelf", "words" on "memories" begin ' +
    `insert or replace into "memory_words" ("rowid", "words") values (new."slot", ${shelved('new.')}); end`,
  'create trigger "memories_removed" after delete on "memories" begin ' +
    'delete from "memory_words" where "rowid" = old."slot"; end',
]

/** What `wordKey` makes of a shelf and a word, for every word of a row. */
const keysOf = (row: string) =>
  `select distinct ('x' || encode(substring(sha256(convert_to(${row}"shelf" || "w", 'UTF8')) from 1 for 8), 'hex'))::bit(64)::bigint ` +
  `from unnest(string_to_array(${row}"words", ' ')) as "w"`

/**
 * A table in the order in which it is read: the rows of a word, the newest first, and no further than somebody wants. GIN has no
 * order and hands over all rows of a word, or is passed over for a look through the table.
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
