import { describe, onTestFinished } from 'vitest'
import { attachmentContract } from '../../testing/attachment-contract.ts'
import { hasPostgres, testDatabase } from '../../testing/postgres/test-database.ts'
import { silentLog } from '../system/index.ts'
import { openPostgresStore } from './index.ts'

describe.runIf(hasPostgres())('on PostgreSQL', () => {
  attachmentContract('PostgreSQL', async () => {
    const store = await openPostgresStore({ url: await testDatabase(), log: silentLog })
    onTestFinished(() => store.close())
    return store
  })
})
