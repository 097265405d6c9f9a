import { mkdir, open, readdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { insert } from '../../core/store/index.ts'
import { auditLine, freshFolder } from '../../testing/store-contract/stage.ts'
import { migrationsFor } from '../storage-sql/index.ts'
import { silentLog } from '../system/index.ts'
import { inspectStore, openSqliteStore, storeFile } from './index.ts'

const PAGE_BYTES = 4096

/** A folder with a store of some pages, closed. */
async function folderWithStore(): Promise<string> {
  const dir = await freshFolder()
  const store = await openSqliteStore({ dir, log: silentLog })
  const lines = Array.from({ length: 500 }, (_, i) => insert('audit', auditLine(`line-${i}`)))
  await store.commit(lines)
  await store.close()
  return dir
}

async function overwrite(dir: string, { from, pages }: { from: number; pages: number }): Promise<void> {
  const file = await open(storeFile(dir), 'r+')
  await file.write(Buffer.alloc(pages * PAGE_BYTES, 0xa5), 0, pages * PAGE_BYTES, from * PAGE_BYTES)
  await file.close()
}

describe('a look at the store', () => {
  it('finds nothing wrong with one that was closed, or that is in use', async () => {
    const dir = await folderWithStore()
    expect(await inspectStore(dir)).toEqual({ state: 'sound' })
    const store = await openSqliteStore({ dir, log: silentLog })
    onTestFinished(() => store.close())
    await store.commit([insert('audit', auditLine('while-open'))])
    expect(await inspectStore(dir)).toEqual({ state: 'sound' })
    await store.commit([insert('audit', auditLine('and-after'))])
    expect(await store.count('audit')).toBe(502)
  })

  it('tells one that is not there from one that is no store', async () => {
    const dir = await freshFolder()
    expect(await inspectStore(join(dir, 'nowhere'))).toEqual({ state: 'absent' })
    expect(await readdir(dir)).toEqual([])
    await writeFile(storeFile(dir), '')
    expect(await inspectStore(dir)).toEqual({ state: 'absent' })
    await writeFile(storeFile(dir), 'These are notes. '.repeat(500))
    expect(await inspectStore(dir)).toEqual({ state: 'damaged', reason: 'it is not an SQLite file' })
  })

  it('does not call damaged what it cannot look at', async () => {
    const dir = await freshFolder()
    await mkdir(storeFile(dir), { recursive: true })
    expect(await inspectStore(dir)).toEqual({ state: 'unreadable', reason: expect.stringMatching(/./) })
  })

  it.each([
    { where: 'at the beginning', from: 0, pages: 10, reason: 'it is not an SQLite file' },
    { where: 'in the middle', from: 2, pages: 8, reason: expect.stringMatching(/./) },
  ])('finds damage $where', async ({ from, pages, reason }) => {
    const dir = await folderWithStore()
    await overwrite(dir, { from, pages })
    expect(await inspectStore(dir)).toEqual({ state: 'damaged', reason })
  })

  it('finds a file that was cut off', async () => {
    const dir = await folderWithStore()
    await truncate(storeFile(dir), 3 * PAGE_BYTES)
    expect(await inspectStore(dir)).toMatchObject({ state: 'damaged' })
  })

  it('finds one of a newer version', async () => {
    const dir = await freshFolder()
    const shapes = migrationsFor('sqlite')
    const newest = shapes.at(-1)?.version ?? 0
    const migrations = [...shapes, { version: newest + 1, name: 'of tomorrow', statements: [] }]
    await (await openSqliteStore({ dir, log: silentLog, migrations })).close()
    expect(await inspectStore(dir)).toEqual({ state: 'tooNew', version: newest + 1, newest })
  })
})
