import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { storeContract } from '../../testing/store-contract.ts'
import { migrationsFor } from '../storage-sql/index.ts'
import { openSqliteStore } from './index.ts'

/** More than SQLite keeps in memory of what is not committed. */
const SPILLED_BYTES = 4 * 1024 * 1024

storeContract('sqlite', {
  open: openSqliteStore,
  shapes: migrationsFor('sqlite'),
  built: { module: 'adapters/storage-sqlite/index.js', name: 'openSqliteStore' },
  syncsItself: true,
  isHalfWay: async dir => (await stat(join(dir, 'store.db-wal'))).size > SPILLED_BYTES,
})
