import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openDataFolder } from '../../adapters/data-folder/index.ts'
import { createSealer } from '../../adapters/sealing/index.ts'
import { createSystemClock, silentLog } from '../../adapters/system/index.ts'
import { createMemoryStore } from '../../testing/memory-store.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { openDatabase, proveSameKey } from './open-database.ts'
import { checkStore, readStoreChoice } from './store-choice.ts'

const clock = createSystemClock()

describe('the sealing key of a database', () => {
  it('is refused when it is none, without being shown', async () => {
    const folder = openDataFolder((await tempProject()).path('data'))
    const env = { DATABASE_URL: 'postgresql://ada@127.0.0.1:1/none', QUARTERMASTER_SEALING_KEY: 'hunter2' }
    const opening = openDatabase({ folder, choice: readStoreChoice(env), clock, log: silentLog })
    const error = await opening.catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('QUARTERMASTER_SEALING_KEY'),
    })
    expect(String(error)).not.toContain('hunter2')
  })

  it('has to be that of the first process, also when several start at once', async () => {
    const store = createMemoryStore()
    const prove = (fill: number) =>
      proveSameKey({ store, sealer: createSealer({ key: Buffer.alloc(32, fill) }), clock, place: 'there' })
    const ends = await Promise.allSettled([prove(1), prove(2), prove(1)])
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    await prove(1)
    await expect(prove(2)).rejects.toMatchObject({ code: 'CONFIG_INVALID', details: { place: 'there' } })
  })
})

it('a variable that is set to nothing names no store', () => {
  expect(readStoreChoice({ DATABASE_URL: ' ', QUARTERMASTER_SEALING_KEY: '' })).toEqual({})
})

describe('a file whose contents were moved to a database', () => {
  const choice = readStoreChoice({ DATABASE_URL: '' })
  const to = 'postgresql://ada@db.example:5432/store'

  async function movedFolder() {
    const folder = openDataFolder((await tempProject()).path('data'))
    await folder.ensure()
    const open = async () => (await openDatabase({ folder, choice, clock, log: silentLog })).close()
    await open()
    await folder.markMoved({ to: 'postgresql://earlier', at: '2026-01-01T00:00:00.000Z' })
    await folder.markMoved({ to, at: '2026-02-03T04:05:06.000Z' })
    return { folder, open, mark: join(folder.dir, 'store-moved.json') }
  }

  it('is refused with where it went and how to go back, and doctor says the same', async () => {
    const { folder, open, mark } = await movedFolder()
    const what = `What is in "${join(folder.dir, 'store.db')}" was moved to ${to} at 2026-02-03T04:05:06.000Z, so the file is not used any more.`
    const fix = `Set DATABASE_URL to that database. To go back to the file on purpose, and without all that came since, delete "${mark}".`
    await expect(open()).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: `${what} ${fix}` })
    expect(await checkStore(folder.dir, choice)).toEqual({
      finding: { level: 'error', what, fix },
      isReadable: false,
    })
    await rm(mark)
    await open()
    expect(await checkStore(folder.dir, choice)).toMatchObject({ finding: { level: 'ok' }, isReadable: true })
  })

  it('stays refused when it was deleted, and when the mark cannot be read', async () => {
    const { folder, open, mark } = await movedFolder()
    await rm(join(folder.dir, 'store.db'))
    await expect(open()).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(to) })
    await writeFile(mark, '')
    await expect(open()).rejects.toMatchObject({ message: expect.stringContaining('moved to another database') })
    await rm(mark)
    await mkdir(mark)
    await expect(open()).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    expect(await checkStore(folder.dir, choice)).toMatchObject({ finding: { level: 'error' }, isReadable: false })
  })
})
