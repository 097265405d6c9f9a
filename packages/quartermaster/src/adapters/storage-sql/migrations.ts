import { AppError } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import {
  delegationTables,
  memoryTables,
  messageTables,
  senderNames,
  taskParts,
  wordsByScope,
} from './message-tables.ts'
import {
  type Builder,
  consent,
  firstTables,
  grantsByLasting,
  operationsByTime,
  resultSizes,
  sealedEffects,
  sharing,
  tasks,
  waiting,
  whatIsListed,
  withoutIndexByEnd,
} from './operation-tables.ts'
import {
  attachmentTables,
  externalPeerTables,
  listedKinds,
  nodeTables,
  offeredNames,
  organisationTables,
  rewordedPins,
  stuckTasks,
  upstreamTables,
} from './organisation-tables.ts'
import { createSqlWriter, type DialectName, type SqlExecutor, unguarded } from './statements.ts'

/** One schema change. Once released it never changes; a new one is added instead. */
export interface Migration {
  readonly version: number
  readonly name: string
  readonly statements: readonly string[]
}

/** All migrations, in order. */
export function migrationsFor(dialect: DialectName): readonly Migration[] {
  const { schema } = createSqlWriter(dialect)
  return STEPS.map(({ name, build }, i) => ({ version: i + 1, name, statements: build({ schema, dialect }) }))
}

const STEPS: readonly { readonly name: string; build(builder: Builder): readonly string[] }[] = [
  { name: 'tokens, operations, audit, secrets', build: firstTables },
  { name: 'operations by time', build: operationsByTime },
  { name: 'which operations are tasks', build: tasks },
  { name: 'upstreams, pins', build: upstreamTables },
  { name: 'what an upstream has listed', build: listedKinds },
  { name: 'what may be tried again, and what is to be told', build: waiting },
  { name: 'approvals, grants', build: consent },
  { name: 'sealed effects, whole results', build: sealedEffects },
  { name: 'no index that nobody reads', build: withoutIndexByEnd },
  { name: 'how much room results take', build: resultSizes },
  { name: 'grants that last apart from those for one call', build: grantsByLasting },
  { name: 'what waits, what was taken back, and the audit of all', build: whatIsListed },
  { name: 'processes that share a store', build: sharing },
  { name: 'organisations, workspaces, persons, join codes', build: organisationTables },
  { name: 'activity, inbox', build: messageTables },
  { name: 'memories and their words', build: memoryTables },
  { name: 'attachments and their content', build: attachmentTables },
  { name: 'delegations', build: delegationTables },
  { name: 'who seats an agent, and what runs once', build: nodeTables },
  { name: 'A2A agents elsewhere, and what they are sent', build: externalPeerTables },
  { name: 'words of memories by their shelf', build: wordsByScope },
  { name: 'what senders call their messages', build: senderNames },
  { name: 'what tasks came in', build: taskParts },
  { name: 'tasks that do not get to where they are sent', build: stuckTasks },
  { name: 'since when upstreams have their names', build: offeredNames },
  { name: 'what was changed while it was held back', build: rewordedPins },
]

export interface MigrateOptions {
  readonly executor: SqlExecutor
  readonly migrations: readonly Migration[]
  readonly log: Log
  /** The database, as messages name it. */
  readonly place: string
  /** How to choose another one, for messages. */
  readonly elsewhere: string
}

/** Migrates the database to this version's schema. Each step is committed with its version, so a killed step is repeated. */
export async function migrate({ executor, migrations, log, ...where }: MigrateOptions): Promise<void> {
  const version = await currentVersion(executor)
  const newest = migrations.at(-1)?.version ?? 0
  if (version > newest) throw tooNew(where, version, newest)
  const missing = migrations.filter(step => step.version > version)
  // A new store has no earlier schema.
  if (version > 0 && missing.length > 0) log.info('Migrating the store', { from: version, to: newest })
  for (const migration of missing) {
    log.debug('A migration of the store', { version: migration.version, name: migration.name })
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

/** Plain SQL: the version is a number of ours and the name is quoted, so no dialect's parameters are needed. */
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
