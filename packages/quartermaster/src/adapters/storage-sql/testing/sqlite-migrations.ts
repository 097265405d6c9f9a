import { DatabaseSync } from '@photostructure/sqlite'
import { migrationsFor } from '../index.ts'

type Database = InstanceType<typeof DatabaseSync>

/** An empty store of this version, in memory. */
export function migrated(): Database {
  const database = new DatabaseSync(':memory:')
  run(database, migrationsFor('sqlite'))
  return database
}

/** A store as it was before a migration, and what brings it up to this version. */
export function storeBefore(migration: string): { database: Database; goOn(): void } {
  const database = new DatabaseSync(':memory:')
  const steps = migrationsFor('sqlite')
  const at = steps.findIndex(({ name }) => name === migration)
  if (at < 0) throw new Error(`There is no migration "${migration}".`)
  run(database, steps.slice(0, at))
  return { database, goOn: () => run(database, steps.slice(at)) }
}

function run(database: Database, steps: ReturnType<typeof migrationsFor>): void {
  for (const { statements } of steps) for (const sql of statements) database.exec(sql)
}
