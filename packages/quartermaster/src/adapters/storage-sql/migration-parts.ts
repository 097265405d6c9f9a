import { type ColumnDataType, type RawBuilder, type SchemaModule, sql } from 'kysely'
import type { DialectName } from './dialect.ts'

/** What a step is built with. */
export interface Builder {
  readonly schema: SchemaModule
  readonly dialect: DialectName
}

type ColumnType = 'text' | 'integer' | 'real' | 'bytes'

/**
 * The types as each database calls them. PostgreSQL is told to compare texts byte by byte, as SQLite does: the order of its own
 * language would page differently, and a newer library of the system could change it under an index.
 */
export const TYPES: Readonly<Record<DialectName, Readonly<Record<ColumnType, ColumnDataType | RawBuilder<unknown>>>>> =
  {
    sqlite: { text: 'text', integer: 'integer', real: 'real', bytes: 'blob' },
    postgres: { text: sql`text collate "C"`, integer: 'bigint', real: 'double precision', bytes: 'bytea' },
  }

/** Whose row it is. */
export const PLACE = { id: 'text', organisation: 'text', workspace: 'text' } as const
export const CALLER = { caller_kind: 'text', caller_name: 'text' } as const

/** A table whose primary key is `id`. Columns are not null unless their type ends in `?`. */
export function table(
  { schema, dialect }: Builder,
  name: string,
  columns: Readonly<Record<string, ColumnType | `${ColumnType}?`>>,
): string {
  let draft = schema.createTable(name)
  for (const [column, word] of Object.entries(columns)) {
    const type = TYPES[dialect][word.replace('?', '') as ColumnType]
    draft = draft.addColumn(column, type, definition => {
      if (column === 'id') return definition.primaryKey().notNull()
      return word.endsWith('?') ? definition : definition.notNull()
    })
  }
  // Without it SQLite keeps a text in a column of numbers, and the same row would fail on PostgreSQL.
  if (dialect === 'sqlite') draft = draft.modifyEnd(sql`strict`)
  return draft.compile().sql
}

export interface IndexOptions {
  readonly on: string
  readonly columns: readonly string[]
  readonly unique?: boolean
  /** Only rows in which this column has a value. */
  readonly notNull?: string
}

export function index(
  { schema }: Builder,
  name: string,
  { on, columns, unique = false, notNull }: IndexOptions,
): string {
  let draft = schema
    .createIndex(name)
    .on(on)
    .columns([...columns])
  if (unique) draft = draft.unique()
  if (notNull !== undefined) draft = draft.where(sql.ref(notNull), 'is not', null)
  return draft.compile().sql
}
