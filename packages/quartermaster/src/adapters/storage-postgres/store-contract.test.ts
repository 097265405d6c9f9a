import { describe } from 'vitest'
import { ask, hasPostgres, sharedPostgres, testDatabase } from '../../testing/postgres/test-database.ts'
import { storeContract } from '../../testing/store-contract.ts'
import { migrationsFor } from '../storage-sql/index.ts'
import { openPostgresStore } from './index.ts'

describe.runIf(hasPostgres())('on PostgreSQL', () => {
  storeContract('postgres', {
    open: async ({ dir, ...options }) => openPostgresStore({ ...options, url: await testDatabase(dir) }),
    shapes: migrationsFor('postgres'),
    built: { module: 'adapters/storage-postgres/index.js', name: 'openPostgresStore' },
    told: async dir => ({ url: await testDatabase(dir) }),
    isHalfWay: async () => {
      const working = `select 1 from pg_stat_activity where state = 'active' and backend_xid is not null and query like 'insert into "half"%'`
      return (await ask(await sharedPostgres(), working)).length > 0
    },
    syncsItself: false,
  })
})
