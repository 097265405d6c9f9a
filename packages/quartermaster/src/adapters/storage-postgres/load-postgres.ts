import type { Log } from '../../core/kernel/index.ts'
import type { Store } from '../../core/store/index.ts'
import { createSqlStore, migrationsFor, type SqlExecutor } from '../storage-sql/index.ts'
import { createCommitter, createGuardedSteps, failedRows, LOCKS, migrateAlone, rowsOf } from './committer.ts'
import { type Connected, createConnector } from './connector.ts'
import { type DatabaseAddress, type DatabaseNaming, parseDatabaseUrl } from './database-address.ts'
import { toFault, undone, unusable } from './errors.ts'
import { limited } from './queues.ts'

export interface LoadPostgresOptions {
  readonly url: string
  readonly named?: DatabaseNaming
  readonly log: Log
  /** Fills the store. An error rolls everything back. */
  fill(store: Store): Promise<void>
  /** Tables that have to be empty before. */
  readonly tables: readonly string[]
}

/** Fills an empty database in one transaction: either everything is there afterwards, or only empty tables. */
export async function loadPostgres({ url, named, log, fill, tables }: LoadPostgresOptions): Promise<void> {
  const address = parseDatabaseUrl(url, named)
  const connect = createConnector({ address, log })
  const connected = await connect({ prepare: async () => {}, mayGoOn: () => false, isFirst: true })
  const { link, facts } = connected
  try {
    const toStep = createGuardedSteps()
    const commitGroup = createCommitter({ lock: { space: LOCKS.commits, key: facts.schemaKey }, toStep })
    await migrateAlone(connected, { commitGroup, migrations: migrationsFor('postgres'), log, address })
    await limited(connected)
    // Other writers wait for the lock, and then find it filled.
    await must(connected, [
      { sql: 'begin isolation level read committed', parameters: [] },
      { sql: 'select pg_advisory_xact_lock($1, $2)', parameters: [LOCKS.commits, facts.schemaKey] },
    ])
    await requireEmpty(connected, tables, address)
    await fill(createSqlStore({ dialect: 'postgres', executor: within(connected, toStep) }))
    await must(connected, [{ sql: 'commit', parameters: [] }])
  } finally {
    // Uncommitted work is rolled back with the connection.
    await link.close()
  }
}

/** Runs statements in the open transaction. */
function within({ link }: Connected, toStep: ReturnType<typeof createGuardedSteps>): SqlExecutor {
  return {
    async commit(statements) {
      const { ends, error } = await link.run(statements.map(toStep))
      if (error === undefined) return { done: true, rows: ends.map(rowsOf) }
      const rows = failedRows(toFault(error))
      if (rows === undefined) throw undone(toFault(error))
      return { done: false, index: ends.length, rows }
    },
    read: statement => link.read(statement),
  }
}

async function must({ link }: Connected, steps: Parameters<Connected['link']['run']>[0]): Promise<void> {
  const { error } = await link.run(steps)
  if (error !== undefined) throw undone(toFault(error))
}

async function requireEmpty({ link }: Connected, tables: readonly string[], address: DatabaseAddress): Promise<void> {
  for (const table of tables) {
    const found = await link.read({ sql: `select 1 from "${table}" limit 1`, parameters: [] })
    if (found.length > 0) throw unusable(address, `there is something in it already, in the table "${table}"`)
  }
}
