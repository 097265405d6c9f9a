import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { memoryContract } from '../../testing/memory-contract.ts'
import { silentLog } from '../system/index.ts'
import { openSqliteStore, type SqliteStore } from './index.ts'

let dir: string
let store: SqliteStore

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'memory-'))
  store = await openSqliteStore({ dir, log: silentLog })
})
afterAll(async () => {
  await store.close()
  await rm(dir, { recursive: true, force: true })
})

memoryContract('SQLite', () => store)
