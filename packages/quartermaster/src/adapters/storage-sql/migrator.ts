import { AppError } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import type { Migration } from './migrations.ts'
import { type SqlExecutor, unguarded } from './statement.ts'

export interface MigrateOptions {
  readonly executor: SqlExecutor
  readonly migrations: readonly Migration[]
  readonly log: Log
  /** What to call the database in a message. */
  readonly place: string
  /** How another one is chosen. */
  readonly elsewhere: string
}

/**
 * Brings the database to the shape that this version works with. Each step and the note that it was taken are one
 * commit: killed half way, the step was not taken and is taken by the next start.
 */
export async function migrate({ executor, migrations, log, ...where }: MigrateOptions): Promise<void> {
  const version = await currentVersion(executor)
  const newest = migrations.at(-1)?.version ?? 0
  if (version > newest) throw tooNew(where, version, newest)
  const missing = migrations.filter(step => step.version > version)
  // A store that is only just made has no shape that anybody knew.
  if (version > 0 && missing.length > 0) log.info('Changing the shape of the store', { from: version, to: newest })
  for (const migration of missing) {
    log.debug('A step to the shape of the store', { version: migration.version, name: migration.name })
    await executor.commit([...migration.statements.map(sql => unguarded(sql)), note(migration)])
  }
}

const CREATE_NOTES =
  'create table if not exists "schema_versions" ("version" integer not null primary key, "name" text not null)'
const READ_VERSION = 'select coalesce(max("version"), 0) from "schema_versions"'

async function currentVersion(executor: SqlExecutor): Promise<number> {
  await executor.commit([unguarded(CREATE_NOTES)])
  const [row] = await executor.read({ sql: READ_VERSION, parameters: [] })
  return Number(row?.[0])
}

/** Plain SQL: the version is a number of ours, and the name is quoted, so neither needs a dialect's parameters. */
function note({ version, name }: Migration) {
  return unguarded(
    `insert into "schema_versions" ("version", "name") values (${version}, '${name.replaceAll("'", "''")}')`,
  )
}

function tooNew(
  { place, elsewhere }: Pick<MigrateOptions, 'place' | 'elsewhere'>,
  version: number,
  newest: number,
): AppError {
  const message = `The data in ${place} was written by a newer version (shape ${version}; this one knows ${newest}).`
  const next = `Install that version or a later one, or ${elsewhere}.`
  return new AppError('CONFIG_INVALID', `${message} ${next}`, { details: { version, newest } })
}
