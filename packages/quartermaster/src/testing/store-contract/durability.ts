import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { silentLog } from '../../adapters/system/index.ts'
import { insert } from '../../core/store/index.ts'
import { auditLine, freshFolder, type OpenedStore, openFresh, type Shape, type StoreSubject } from './stage.ts'
import { ensureBuilt, startStoreProcess } from './store-process.ts'

/** A step that has written much before it ends, which it never does. */
const ENDLESS = [
  'create table "half" ("n" integer not null)',
  'insert into "half" with recursive "c" ("n") as (select 1 union all select "n" + 1 from "c" where "n" < 1000000000) select "n" from "c"',
]

export function durabilityContract(subject: StoreSubject): void {
  // The processes run what is built, so there has to be a build of these sources.
  beforeAll(ensureBuilt)

  const shapesWith = (...statements: string[]): readonly Shape[] => [
    ...subject.shapes,
    { version: subject.shapes.length + 1, name: 'half', statements },
  ]

  const told = async (dir: string) => ({ more: (await subject.told?.(dir)) ?? {} })

  describe('what was answered', () => {
    it('is there after kill -9, and nothing is there by half', async () => {
      const dir = await freshFolder()
      for (const round of ['a', 'b', 'c']) {
        const process = startStoreProcess(subject, { task: 'writeForever', dir, prefix: round, ...(await told(dir)) })
        await process.until('answered', 200)
        await process.kill()
        const answered = process.lines.filter(line => line.startsWith('answered')).map(line => line.slice(9))
        const ids = await storedIds(dir)
        expect(answered.filter(id => !ids.has(`${id}/1`) || !ids.has(`${id}/2`))).toEqual([])
        expect([...ids].filter(id => !ids.has(id.replace(/.$/, end => (end === '1' ? '2' : '1'))))).toEqual([])
      }
    })

    it.runIf(subject.syncsItself && canTrace())('was synced to the disk before it was answered', async () => {
      const dir = await freshFolder()
      const trace = join(dir, 'trace')
      const strace = ['strace', '-f', '-qq', '-s', '32', '-e', 'trace=write,fsync,fdatasync', '-o', trace]
      const process = startStoreProcess(subject, { task: 'writeSome', dir }, strace)
      expect(await process.ended()).toBe(0)
      const calls = (await readFile(trace, 'utf8')).split('\n')
      for (let i = 0; i < 5; i++) {
        const asked = calls.findIndex(call => call.includes(`write(1, "asks ${i}\\n"`))
        const answered = calls.findIndex(call => call.includes(`write(1, "answered ${i}\\n"`))
        expect(asked).toBeGreaterThan(-1)
        const syncs = calls
          .slice(asked, answered)
          .filter(call => /f(data)?sync(\(\d+\)| resumed>.*\)) += 0$/.test(call))
        expect(syncs.length).toBeGreaterThan(0)
      }
    })

    it('is there when the store is opened again', async () => {
      const dir = await freshFolder()
      const first = await openFresh(subject, { dir })
      await first.commit([insert('audit', auditLine('a'))])
      await first.close()
      const second = await openFresh(subject, { dir })
      expect(await second.get('audit', 'a')).toMatchObject({ id: 'a' })
    })
  })

  describe('the shape of the data', () => {
    it('is as it was when its change is killed half way, and the next start makes it', async () => {
      const dir = await freshFolder()
      await closeAfter(await openFresh(subject, { dir }), [insert('audit', auditLine('before'))])
      const migrated = { migrations: shapesWith(...ENDLESS), ...(await told(dir)) }
      const process = startStoreProcess(subject, { task: 'open', dir, ...migrated })
      await process.until('shape')
      await vi.waitFor(async () => expect(await subject.isHalfWay(dir)).toBe(true), { timeout: 300_000 })
      await process.kill()

      // Neither the table nor the note that it was made is there: both would be found in the way.
      await closeAfter(await openFresh(subject, { dir }), [insert('audit', auditLine('between'))])
      const migrations = shapesWith('create table "half" ("n" integer not null)')
      const store = await openFresh(subject, { dir, migrations })
      expect(await store.count('audit')).toBe(2)
    })

    it('is refused when a newer version has made it, with what to do, and left alone', async () => {
      const dir = await freshFolder()
      const migrations = shapesWith('create table "later" ("n" integer not null)')
      await closeAfter(await openFresh(subject, { dir, migrations }), [insert('audit', auditLine('a'))])
      await expect(subject.open({ dir, log: silentLog })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringMatching(/newer version.*Install that version/),
      })
      expect(await (await openFresh(subject, { dir, migrations })).count('audit')).toBe(1)
    })

    it('is as it was when a step of its change is wrong', async () => {
      const dir = await freshFolder()
      const wrong = shapesWith('create table "half" ("n" integer not null)', 'create nonsense')
      await expect(subject.open({ dir, log: silentLog, migrations: wrong })).rejects.toMatchObject({ code: 'INTERNAL' })
      const migrations = shapesWith('create table "half" ("n" integer not null)')
      expect(await (await openFresh(subject, { dir, migrations })).count('audit')).toBe(0)
    })
  })

  async function storedIds(dir: string): Promise<ReadonlySet<string>> {
    const store = await openFresh(subject, { dir })
    const ids = new Set<string>()
    for (let after = ''; ; ) {
      const page = await store.find('audit', { order: { by: ['id'] }, after: [after], columns: ['id'], limit: 1_000 })
      for (const { id } of page) ids.add(id)
      if (page.length < 1_000) break
      after = page.at(-1)?.id ?? ''
    }
    await store.close()
    return ids
  }
}

async function closeAfter(store: OpenedStore, writes: Parameters<OpenedStore['commit']>[0]): Promise<void> {
  expect(await store.commit(writes)).toMatchObject({ committed: true })
  await store.close()
}

/** A sandbox may have the program and forbid its use. */
function canTrace(): boolean {
  return spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0
}
