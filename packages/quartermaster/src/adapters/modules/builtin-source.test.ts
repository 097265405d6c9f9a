import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Services, SourceUnit } from '../../core/catalogue/index.ts'
import { createBuiltinSource } from './index.ts'

let dir: string

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'builtin-test-'))
})

afterEach(() => rm(dir, { recursive: true, force: true }))

const write = async (path: string, text: string) => {
  await mkdir(dirname(join(dir, path)), { recursive: true })
  await writeFile(join(dir, path), text)
}

const catalogue = JSON.stringify(new URL('../../core/catalogue/index.ts', import.meta.url).href)
const capability = (key: string) => `import { defineModule, defineCapability } from ${catalogue}
export default defineModule({ needs: ['paths'], create: ({ paths }) => defineCapability({ key: '${key}', short: paths.dataDir, tools: [] }) })`

const SERVICES: Partial<Services> = {
  paths: { projectDir: '/project', dataDir: '/data' },
  secrets: { get: () => undefined },
}
const open = (folder = dir, version = '1.0.0') => createBuiltinSource({ dir: folder, services: SERVICES, version })
const load = (source = open()) => source.load(new AbortController().signal)
const hashes = (units: readonly SourceUnit[]) => units.map(unit => ('hash' in unit ? unit.hash : undefined))

it('makes a capability of every folder with an index, in alphabetical order', async () => {
  await write('memory/index.ts', capability('memory'))
  await write('files/index.js', capability('files'))
  await write('shared/helper.ts', 'throw new Error("no index, no capability")')
  await write('readme.md', 'text')
  const units = await load()
  expect(units.map(unit => unit.id)).toEqual(['files', 'memory'])
  expect(units).toMatchObject([
    { definitions: { capabilities: [{ key: 'files', short: '/data' }] } },
    { definitions: { capabilities: [{ key: 'memory' }] } },
  ])
})

it('loads the rest when one folder fails', async () => {
  await write('bad/index.js', 'throw new Error("out of order")')
  await write('good/index.js', capability('good'))
  const units = await load()
  expect(units).toMatchObject([
    {
      id: 'bad',
      broken: [
        {
          where: 'quartermaster/capabilities/bad',
          message: 'The built-in capability failed while loading: out of order',
        },
      ],
    },
    { id: 'good', definitions: { capabilities: [{ key: 'good' }] } },
  ])
})

it('imports each folder once, and notices new ones', async () => {
  await write('a/index.js', capability('a'))
  const source = open()
  const [before] = await load(source)
  await write('a/index.js', 'throw new Error("must not run")')
  await write('b/index.js', capability('b'))
  const [after, added] = await load(source)
  expect(after).toBe(before)
  expect(added?.id).toBe('b')
})

it('has a hash over the contents and the version, wherever the folder is', async () => {
  await write('one/a/index.js', capability('a'))
  await write('one/a/lib/part.js', 'export const part = 1')
  await cp(join(dir, 'one'), join(dir, 'two'), { recursive: true })
  await cp(join(dir, 'one'), join(dir, 'three'), { recursive: true })
  await write('two/a/index.test.js', 'a test does not count')
  await write('three/a/lib/part.js', 'export const part = 2')
  const [one, two, three] = await Promise.all(
    ['one', 'two', 'three'].map(async name => hashes(await load(open(join(dir, name))))),
  )
  const [newer] = hashes(await load(open(join(dir, 'one'), '2.0.0')))
  expect(one).toEqual(two)
  expect(new Set([one?.[0], three?.[0], newer]).size).toBe(3)
})
