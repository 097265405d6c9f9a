import { readdir, rename, rm, stat, symlink, utimes } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import type { SourceUnit } from '../../core/catalogue/index.ts'
import { answer, capability, load, only, useCapabilityProject } from './testing/capability-project.ts'

const project = useCapabilityProject()

const ids = (units: readonly SourceUnit[]) => units.map(unit => unit.id)

describe('what counts as a module', () => {
  it('loads TypeScript and JavaScript, from files and from folders with an index, in alphabetical order', async () => {
    await project.write('capabilities/b.ts', capability('"b" satisfies string', { key: 'b' }))
    await project.write('capabilities/a/index.mts', capability('"a"', { key: 'a' }))
    await project.write('capabilities/d.mjs', capability('"d"', { key: 'd' }))
    await project.write('capabilities/c.js', capability('"c"', { key: 'c' }))
    const units = await load(await project.open())
    expect(ids(units)).toEqual([
      'capabilities/a/index.mts',
      'capabilities/b.ts',
      'capabilities/c.js',
      'capabilities/d.mjs',
    ])
    expect(units.map(answer)).toEqual(['a', 'b', 'c', 'd'])
  })

  it('leaves out helpers, tests, type declarations, hidden files and packages', async () => {
    for (const name of [
      '_helper.ts',
      'x.test.ts',
      'x.spec.js',
      'types.d.ts',
      '.hidden.ts',
      'node_modules/index.js',
      'notes.md',
      'empty/other.ts',
    ]) {
      await project.write(`capabilities/${name}`, 'throw new Error("must not run")')
    }
    expect(await load(await project.open())).toEqual([])
  })

  it('follows links to files and folders, and names them by the link', async () => {
    await project.write('elsewhere/real.ts', capability('helper', { head: 'import { helper } from "./near.ts"' }))
    await project.write('elsewhere/near.ts', 'export const helper = "near the file"')
    await project.write('shared/index.ts', capability('"folder"'))
    await symlink(project.path('elsewhere/real.ts'), project.path('capabilities/linked.ts'))
    await symlink(project.path('shared'), project.path('capabilities/shared'))
    const units = await load(await project.open())
    expect(ids(units)).toEqual(['capabilities/linked.ts', 'capabilities/shared/index.ts'])
    expect(units.map(answer)).toEqual(['near the file', 'folder'])
  })

  it('finds nothing where there is no folder, and everything once there is one', async () => {
    await rm(project.path('capabilities'), { recursive: true })
    const source = await project.open()
    expect(await load(source)).toEqual([])
    await project.write('capabilities/weather.ts', capability('"sun"'))
    expect(answer(await only(source))).toBe('sun')
  })

  it('says so when the folder is no folder, instead of finding nothing in it', async () => {
    await rm(project.path('capabilities'), { recursive: true })
    await project.write('capabilities', 'a file')
    await expect(load(await project.open())).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  it('warns of a module that defines nothing', async () => {
    await project.write('capabilities/nothing.ts', 'export const x = 1')
    expect(await only(await project.open())).toMatchObject({
      problems: [{ severity: 'warning', where: 'capabilities/nothing.ts' }],
    })
  })
})

describe('a reload', () => {
  it('gives back the same unit for an unchanged file', async () => {
    await project.write('capabilities/weather.ts', capability('"sun"'))
    const source = await project.open()
    expect(await only(source)).toBe(await only(source))
  })

  it('gives back the same unit for a file that was only touched', async () => {
    const file = await project.write('capabilities/weather.ts', capability('"sun"'))
    const source = await project.open()
    const before = await only(source)
    await utimes(file, 1, 1)
    expect(await only(source)).toBe(before)
  })

  it('sees an edit, also one that keeps size and time of the file', async () => {
    const file = await project.write('capabilities/weather.ts', capability('"sun"'))
    const source = await project.open()
    const before = await only(source)
    const { atime, mtime } = await stat(file)
    await project.write('capabilities/weather.ts', capability('"fog"'))
    await utimes(file, atime, mtime)
    const after = await only(source)
    expect(answer(after)).toBe('fog')
    expect(answer(before)).toBe('sun')
  })

  it('sees an edited helper, wherever it is', async () => {
    await project.write(
      'capabilities/weather.ts',
      capability('near() + far()', { head: 'import { near } from "./_near"; import { far } from "../lib/far.ts"' }),
    )
    await project.write('capabilities/_near.ts', 'export const near = (): string => "a"')
    await project.write('lib/far.ts', 'export const far = (): string => "b"')
    const source = await project.open()
    expect(answer(await only(source))).toBe('ab')
    await project.write('capabilities/_near.ts', 'export const near = (): string => "A"')
    expect(answer(await only(source))).toBe('Ab')
    await project.write('lib/far.ts', 'export const far = (): string => "B"')
    expect(answer(await only(source))).toBe('AB')
  })

  it('sees new, renamed and deleted files and leaves the others alone', async () => {
    await project.write('capabilities/a.ts', capability('"a"', { key: 'a' }))
    const source = await project.open()
    const [a] = await load(source)
    const b = await project.write('capabilities/b.ts', capability('"b"', { key: 'b' }))
    expect((await load(source)).map(answer)).toEqual(['a', 'b'])
    await rename(b, project.path('capabilities/c.ts'))
    expect(ids(await load(source))).toEqual(['capabilities/a.ts', 'capabilities/c.ts'])
    await rm(project.path('capabilities/c.ts'))
    const units = await load(source)
    expect(units).toHaveLength(1)
    expect(units[0]).toBe(a)
  })

  it('gets the old unit back when an edit is undone, without running the module again', async () => {
    const runs = '(globalThis as any).runs = ((globalThis as any).runs ?? 0) + 1'
    await project.write('capabilities/weather.ts', capability('"sun"', { head: runs }))
    const source = await project.open()
    const before = await only(source)
    await project.write('capabilities/weather.ts', capability('"fog"', { head: runs }))
    await only(source)
    await project.write('capabilities/weather.ts', capability('"sun"', { head: runs }))
    expect(await only(source)).toBe(before)
    expect(Reflect.get(globalThis, 'runs')).toBe(2)
  })

  it('answers two loads at once with the same units', async () => {
    await project.write('capabilities/weather.ts', capability('"sun"'))
    const source = await project.open()
    const [first, second] = await Promise.all([only(source), only(source)])
    expect(first).toBe(second)
  })
})

it('leaves no files behind, whatever became of the modules', async () => {
  await project.write('capabilities/good.ts', capability('1'))
  await project.write('capabilities/throws.ts', 'throw new Error("no")')
  await project.write('capabilities/broken.ts', 'const = 1')
  await project.write('capabilities/hangs.ts', 'await new Promise(() => {})')
  await load(await project.open({ importTimeoutMs: 50 }))
  expect(await readdir(project.temporary())).toEqual([])
  expect(await readdir(project.path(''))).toEqual(['capabilities'])
})
