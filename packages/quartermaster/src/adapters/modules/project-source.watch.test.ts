import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Services } from '../../core/catalogue/index.ts'
import { type ClosableSource, createProjectSource } from './index.ts'

let project: string
let source: ClosableSource

const SERVICES: Partial<Services> = {
  paths: { projectDir: '/project', dataDir: '/data' },
  secrets: { get: () => undefined },
}
const LOG = { debug() {}, info() {}, warn() {}, error() {} }

const open = (watch = true) =>
  createProjectSource({
    dir: join(project, 'capabilities'),
    services: SERVICES,
    packageEntries: {},
    watch,
    log: LOG,
  })

beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), 'watch-test-'))
  source = open()
})

afterEach(async () => {
  await source.close()
  await rm(project, { recursive: true, force: true })
})

const write = async (path: string, text: string) => {
  await mkdir(dirname(join(project, path)), { recursive: true })
  await writeFile(join(project, path), text)
}

const load = async () =>
  (await source.load(new AbortController().signal)).map(unit => `${unit.id} ${'hash' in unit ? unit.hash : 'broken'}`)

/** Resolves once a load gives something else than before; every notice leads to a load, as it does in the catalogue. */
async function reloaded(before: readonly string[], change: () => Promise<void>): Promise<string[]> {
  let stop = () => {}
  const after = new Promise<string[]>((resolve, reject) => {
    const look = async () => {
      const now = await load()
      if (now.join() !== before.join()) resolve(now)
    }
    stop = source.onChange(() => void look().catch(reject))
  })
  await change()
  return after.finally(stop)
}

it('tells of an edit, a new file, a rename and a deletion', async () => {
  await write('capabilities/a.ts', 'export const a = 1')
  let units = await load()
  const keep = source.onChange(() => {})
  units = await reloaded(units, () => write('capabilities/a.ts', 'export const a = 2'))
  units = await reloaded(units, () => write('capabilities/b/index.ts', 'export const b = 1'))
  expect(units).toHaveLength(2)
  units = await reloaded(units, () => rename(join(project, 'capabilities/a.ts'), join(project, 'capabilities/c.ts')))
  expect(units.map(unit => unit.split(' ')[0])).toContain('capabilities/c.ts')
  units = await reloaded(units, () => rm(join(project, 'capabilities/b'), { recursive: true }))
  expect(units).toHaveLength(1)
  keep()
})

it('tells of a file that an editor replaces with a new one, again and again', async () => {
  await write('capabilities/a.ts', 'export const a = 0')
  let units = await load()
  const keep = source.onChange(() => {})
  for (const value of [1, 2, 3]) {
    units = await reloaded(units, async () => {
      await write('capabilities/.a.ts.tmp', `export const a = ${value}`)
      await rename(join(project, 'capabilities/.a.ts.tmp'), join(project, 'capabilities/a.ts'))
    })
  }
  expect(units).toHaveLength(1)
  keep()
})

it('tells of a helper outside of the folder, also when it is gone and comes back', async () => {
  await write('lib/helper.ts', 'export const help = 1')
  await write('capabilities/a.ts', 'export { help } from "../lib/helper.ts"')
  let units = await load()
  const keep = source.onChange(() => {})
  units = await reloaded(units, () => write('lib/helper.ts', 'export const help = 2'))
  units = await reloaded(units, () => rm(join(project, 'lib/helper.ts')))
  expect(units).toEqual(['capabilities/a.ts broken'])
  units = await reloaded(units, () => write('lib/helper.ts', 'export const help = 3'))
  expect(units).not.toEqual(['capabilities/a.ts broken'])
  keep()
})

it('notices a folder that appears later', async () => {
  const units = await load()
  expect(units).toEqual([])
  expect(await reloaded(units, () => write('capabilities/a.ts', 'export const a = 1'))).toHaveLength(1)
})

it('tells of an edit between the last load and the start of watching', async () => {
  await write('capabilities/a.ts', 'export const a = 1')
  const units = await load()
  await write('capabilities/a.ts', 'export const a = 2')
  expect(await reloaded(units, async () => {})).not.toEqual(units)
})

it('says nothing when watching is off, and nothing after it was closed', async () => {
  await source.close()
  source = open(false)
  await write('capabilities/a.ts', 'export const a = 1')
  const stop = source.onChange(() => expect.unreachable())
  expect(await load()).toHaveLength(1)
  stop()
  await source.close()
})
