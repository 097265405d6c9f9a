import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe } from 'vitest'
import { memoryContract } from '../../testing/memory-contract.ts'
import { ask, hasPostgres, inSchema, sharedPostgres } from '../../testing/postgres/test-database.ts'
import { silentLog } from '../system/index.ts'
import { openPostgresStore, type PostgresStore } from './index.ts'

describe.runIf(hasPostgres())('on PostgreSQL', () => {
  const schema = `test_memory_${randomBytes(6).toString('hex')}`
  let server: string
  let store: PostgresStore

  beforeAll(async () => {
    server = await sharedPostgres()
    await ask(server, `create schema ${schema}`)
    store = await openPostgresStore({ url: inSchema(server, schema), log: silentLog })
  })
  afterAll(async () => {
    await store.close()
    await ask(server, `drop schema ${schema} cascade`)
  })

  memoryContract('PostgreSQL', () => store)
})
