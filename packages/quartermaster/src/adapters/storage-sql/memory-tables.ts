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

const POSTGRES_SHELVED = [
  'drop index "memories_by_words"',
  'alter table "memories" drop column "memory_words"',
  `alter table "memories" add column "memory_words" text[] generated always as (string_to_array(${shelved('')}, ' ')) stored`,
  'create index "memories_by_words" on "memories" using gin ("memory_words")',
]
