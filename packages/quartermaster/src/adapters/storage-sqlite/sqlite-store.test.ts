import { spawnSync } from 'node:child_process'
import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { insert } from '../../core/store/index.ts'
import { collectedLog } from '../../testing/collected-log.ts'
import { auditLine, freshFolder, type StoreSubject } from '../../testing/store-contract/stage.ts'
import { ensureBuilt, startStoreProcess } from '../../testing/store-contract/store-process.ts'
import { openDataFolder } from '../data-folder/index.ts'
import { migrationsFor } from '../storage-sql/index.ts'
import { silentLog } from '../system/index.ts'
import { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from './index.ts'

const SUBJECT: StoreSubject = {
  open: openSqliteStore,
  shapes: migrationsFor('sqlite'),
  built: { module: 'adapters/storage-sqlite/index.js', name: 'openSqliteStore' },
  syncsItself: true,
  isHalfWay: async () => true,
}

async function openIn(dir: string, more: Partial<SqliteStoreOptions> = {}): Promise<SqliteStore> {
  const store = await openSqliteStore({ dir, log: silentLog, ...more })
  onTestFinished(() => store.close())
  return store
}

const append = (store: SqliteStore, id: string) => store.commit([insert('audit', auditLine(id))])

describe('the file of the store', () => {
  it('is written durably, as the database itself says', async () => {
    const store = await openIn(await freshFolder())
    expect(await store.durability()).toEqual({ journal: 'wal', synchronous: 2 })
  })

  it.runIf(process.platform !== 'win32')('is for its owner only, with everything beside it', async () => {
    const dir = await freshFolder()
    const store = await openIn(dir)
    await append(store, 'a')
    for (const name of ['store.db', 'store.db-wal', 'store.db-shm']) {
      expect((await stat(join(dir, name))).mode & 0o777).toBe(0o600)
    }
  })

  it('says in one line that its shape changes, and nothing when it is new or as it should be', async () => {
    const dir = await freshFolder()
    const { log, lines } = collectedLog()
    const told = () => lines.splice(0).filter(line => !line.startsWith('debug'))
    const shapes = migrationsFor('sqlite')
    await (await openSqliteStore({ dir, log, migrations: shapes.slice(0, 3) })).close()
    expect(told()).toEqual([])
    await (await openSqliteStore({ dir, log })).close()
    expect(told()).toEqual([expect.stringContaining('Migrating the store')])
    await (await openSqliteStore({ dir, log })).close()
    expect(told()).toEqual([])
  })

  it('is one file without companions when the store was closed', async () => {
    const dir = await freshFolder()
    const store = await openIn(dir)
    await append(store, 'a')
    await store.count('audit')
    await store.close()
    await expect(stat(join(dir, 'store.db-wal'))).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('is refused when it is something else, or cannot be made, with what to do', async () => {
    const dir = await freshFolder()
    await writeFile(join(dir, 'store.db'), 'These are notes, and no database at all. '.repeat(200))
    const refused = { code: 'CONFIG_INVALID', message: expect.stringMatching(/not an SQLite file.*--data/) }
    await expect(openSqliteStore({ dir, log: silentLog })).rejects.toMatchObject(refused)
    const nowhere = { code: 'CONFIG_INVALID', details: { file: join(dir, 'no', 'store.db') } }
    await expect(openSqliteStore({ dir: join(dir, 'no'), log: silentLog })).rejects.toMatchObject(nowhere)
    await mkdir(join(dir, 'folder', 'store.db'), { recursive: true })
    const folder = openSqliteStore({ dir: join(dir, 'folder'), log: silentLog })
    await expect(folder).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })
})

describe('the lock of the data folder', () => {
  it('keeps a second store out for as long as the first is open, and afterwards until it is released', async () => {
    const dir = await freshFolder()
    const folder = openDataFolder(join(dir, 'data'))
    await folder.ensure()
    const lock = await folder.lock()
    const store = await openIn(folder.dir)
    await append(store, 'a')
    expect(await store.count('audit')).toBe(1)
    await expect(openDataFolder(folder.dir).lock()).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    await store.close()
    await expect(openDataFolder(folder.dir).lock()).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    await lock.release()
    await (await openDataFolder(folder.dir).lock()).release()
  })
})

describe('the committer', () => {
  it('syncs once for callers who come together', async () => {
    const store = await openIn(await freshFolder())
    const before = store.statistics()
    await Promise.all(Array.from({ length: 200 }, (_, i) => append(store, `a${i}`)))
    const after = store.statistics()
    expect(after.commits - before.commits).toBe(200)
    expect(after.groups - before.groups).toBeLessThan(20)
    expect(after.largestGroup).toBeGreaterThan(10)
  })

  it('counts what it does', async () => {
    const store = await openIn(await freshFolder(), { mostWaiting: 2 })
    await append(store, 'a')
    await append(store, 'a')
    await store.count('audit')
    const three = [1, 2, 3].map(i => append(store, `b${i}`))
    expect(store.statistics().waiting).toBe(2)
    const [, , third] = await Promise.allSettled(three)
    expect(third).toMatchObject({ status: 'rejected', reason: { code: 'STORE_BUSY' } })
    expect(store.statistics()).toMatchObject({ commits: 4, refused: 1, reads: 1, errors: 1, waiting: 0, restarts: 0 })
  })
})

describe('a process with a store', () => {
  beforeAll(ensureBuilt)

  it('ends by itself although the store was left open', async () => {
    const process = startStoreProcess(SUBJECT, { task: 'leaveOpen', dir: await freshFolder() })
    expect(await process.ended()).toBe(0)
  })

  it.runIf(canLimit())('is told when the disk refuses, has nothing by half, and goes on', async () => {
    const limited = ['sh', '-c', 'ulimit -f 2000; exec "$@"', 'sh']
    const process = startStoreProcess(SUBJECT, { task: 'overfill', dir: await freshFolder() }, limited)
    expect(await process.ended()).toBe(0)
    expect(process.lines.slice(-3)).toEqual(['failed INTERNAL', 'failed OUTCOME_UNKNOWN', 'rows 4'])
  })
})

function canLimit(): boolean {
  return spawnSync('sh', ['-c', 'ulimit -f 2000']).status === 0
}
