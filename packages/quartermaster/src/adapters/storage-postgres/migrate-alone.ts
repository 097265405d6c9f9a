import type { Log } from '../../core/kernel/index.ts'
import { type Migration, migrate, type SqlExecutor } from '../storage-sql/index.ts'
import type { CommitGroup } from './committer.ts'
import type { Connected } from './connector.ts'
import type { DatabaseAddress } from './database-address.ts'
import { nameAnother, undone, unknownOutcome } from './errors.ts'
import { LOCKS } from './guards.ts'

interface MigrateAloneOptions {
  readonly commitGroup: CommitGroup
  readonly migrations: readonly Migration[]
  readonly log: Log
  readonly address: DatabaseAddress
}

/** Migrates the schema while no other process does. The lock is the session's: it goes with it, however that ends. */
export async function migrateAlone({ link, facts }: Connected, options: MigrateAloneOptions): Promise<void> {
  const { commitGroup, address, ...more } = options
  const executor: SqlExecutor = {
    async commit(statements) {
      const [end] = await commitGroup(link, [{ statements, news: [] }])
      if (end && 'outcome' in end) return end.outcome
      const fault = end?.fault ?? { message: 'it did not answer' }
      throw end?.isUnknown ? unknownOutcome(fault) : undone(fault)
    },
    read: statement => link.read(statement),
  }
  const parameters = [LOCKS.shapes, facts.schemaKey]
  await link.read({ sql: 'select pg_advisory_lock($1, $2)', parameters })
  await migrate({ executor, ...more, place: address.text, elsewhere: nameAnother(address.named) })
  await link.read({ sql: 'select pg_advisory_unlock($1, $2)', parameters })
}
