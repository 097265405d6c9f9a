import { describe, expect, it, onTestFinished } from 'vitest'
import { ROWS } from '../../contracts/index.ts'
import { COPIED_TABLES, copyStore, insert, type Store } from '../../core/store/index.ts'
import { hasPostgres, testDatabase } from '../../testing/postgres/test-database.ts'
import { auditLine, freshFolder, operation, token } from '../../testing/store-contract/stage.ts'
import { openSqliteStore } from '../storage-sqlite/index.ts'
import { sha256, silentLog } from '../system/index.ts'
import { loadPostgres, openPostgresStore } from './index.ts'

const tables = Object.keys(ROWS)

/** A file with a few rows more than a page of some tables. */
async function filledFile() {
  const from = await openSqliteStore({ dir: await freshFolder(), log: silentLog })
  onTestFinished(() => from.close())
  const result = { content: [{ type: 'text' as const, text: 'ünï ✓ 😀\nA' }] }
  await from.commit([
    ...Array.from({ length: 450 }, (_, i) => insert('audit', auditLine(`a${i}`))),
    ...['Z', 'a', 'ä', '_'].map(id => insert('tokens', token(`t${id}`, { label: `l ${id}` }))),
    ...Array.from({ length: 25 }, (_, i) => {
      const bytes = new Uint8Array(300).fill(i)
      return insert('chunks', { id: `b.${i}`, workspace: 'w', blobId: 'b', position: i, bytes })
    }),
    insert('operations', operation('o1', { result, awaitedUntil: 5, node: 'n' })),
  ])
  return from
}

const load = (url: string, fill: (store: Store) => Promise<void>) => loadPostgres({ url, log: silentLog, tables, fill })

describe.runIf(hasPostgres())('filling a database from a file', () => {
  it('brings every row as it was', async () => {
    const [from, url] = [await filledFile(), await testDatabase()]
    const progress: unknown[] = []
    await load(url, async to => {
      const copied = await copyStore({ from, to, digest: sha256, onProgress: one => progress.push(one) })
      expect(copied.map(({ table }) => table)).toEqual(COPIED_TABLES)
    })
    const store = await openPostgresStore({ url, log: silentLog })
    onTestFinished(() => store.close())
    for (const table of COPIED_TABLES) {
      const page = { order: { by: ['id'] as const }, limit: 1_000 }
      expect(await store.find(table, page as never)).toEqual(await from.find(table, page as never))
    }
    expect(progress).toContainEqual({ table: 'audit', done: 450, total: 450 })
  })

  it('that fails half way leaves nothing behind, and can be done again', async () => {
    const [from, url] = [await filledFile(), await testDatabase()]
    const half = load(url, async to => {
      await copyStore({ from, to, digest: sha256 })
      throw new Error('The power went.')
    })
    await expect(half).rejects.toThrow('The power went.')
    // One that does not arrive is noticed, too.
    const other = load(url, async to => {
      const find: Store['find'] = async (table, query) => (await to.find(table, query)).slice(1)
      await copyStore({ from, to: { ...to, find }, digest: sha256 })
    })
    await expect(other).rejects.toMatchObject({ code: 'INTERNAL', message: expect.stringContaining('differs') })
    await load(url, async to => void (await copyStore({ from, to, digest: sha256 })))
  })

  it('is refused where there is anything already', async () => {
    const url = await testDatabase()
    const store = await openPostgresStore({ url, log: silentLog })
    onTestFinished(() => store.close())
    await store.commit([insert('audit', auditLine('a'))])
    const refused = load(url, () => Promise.reject(new Error('It was begun.')))
    const message = expect.stringContaining('something in it already, in the table "audit"')
    await expect(refused).rejects.toMatchObject({ code: 'CONFIG_INVALID', message })
  })
})
