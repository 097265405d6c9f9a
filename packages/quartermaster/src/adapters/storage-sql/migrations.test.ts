import { describe, expect, it } from 'vitest'
import { ROWS } from '../../contracts/index.ts'
import { migrationsFor } from './index.ts'
import { type ColumnKind, readColumns } from './statements.ts'
import { migrated } from './testing/sqlite-migrations.ts'

const SQLITE_TYPES: Readonly<Record<ColumnKind, string>> = {
  text: 'TEXT',
  json: 'TEXT',
  integer: 'INTEGER',
  boolean: 'INTEGER',
  real: 'REAL',
  bytes: 'BLOB',
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
