import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { Table } from '../../contracts/index.ts'
import type { SqlValue } from './statement.ts'

export type DialectName = 'sqlite' | 'postgres'

export type SqlTables = { readonly [T in Table]: { readonly [column: string]: SqlValue } }

/** Writes SQL and never runs it: what runs it is a driver that knows how to group, sync and give up. */
export type SqlWriter = Kysely<SqlTables>

export function createSqlWriter(dialect: DialectName): SqlWriter {
  return new Kysely<SqlTables>({ dialect: DIALECTS[dialect] })
}

const DIALECTS = {
  sqlite: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db: Kysely<unknown>) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
  postgres: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db: Kysely<unknown>) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
}
