import { mkdir, mkdtemp, readdir, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import type { Services, SourceUnit } from '../../core/catalogue/index.ts'
import { type ClosableSource, createProjectSource, type ProjectSourceOptions } from './index.ts'

let home: string
let project: string
let temporary: string
const sources: ClosableSource[] = []

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'modules-test-'))
  project = join(home, 'project')
  temporary = join(home, 'temporary')
  await mkdir(join(project, 'capabilities'), { recursive: true })
  await mkdir(temporary)
  vi.stubEnv('TMPDIR', temporary)
})

afterEach(async () => {
  await Promise.all(sources.splice(0).map(source => source.close()))
  vi.unstubAllEnvs()
  await rm(home, { recursive: true, force: true })
})

const write = async (path: string, text: string) => {
  const file = join(project, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
  return file
}

/** A capability whose one tool answers with an expression. */
const capability = (answer: string, { head = '', key = 'weather' } = {}) => `${head}
import { defineCapability, defineTool } from 'quartermaster'
const forecast = defineTool({ name: '${key}_tool', short: 'Answers.', input: { type: 'object' }, handler: () => ${answer} })
export default defineCapability({ key: '${key}', short: 'Answers.', tools: [forecast] })
`

/** The package as project code sees it, made of the parts that the tests themselves use. */
async function packageEntries(): Promise<Record<string, string>> {
  const parts = ['../../core/catalogue/index.ts', '../../contracts/index.ts'].map(
    path => new URL(path, import.meta.url).href,
  )
  const index = join(home, 'package.mjs')
  await writeFile(index, parts.map(url => `export * from ${JSON.stringify(url)}`).join('\n'))
  return { quartermaster: pathToFileURL(index).href, 'quartermaster/probes': pathToFileURL(index).href }
}

const SERVICES: Services = { paths: { projectDir: '/project', dataDir: '/data' }, secrets: { get: () => undefined } }
const LOG = { debug() {}, info() {}, warn() {}, error() {} }

async function open(options: Partial<ProjectSourceOptions> = {}): Promise<ClosableSource> {
  const dir = join(project, 'capabilities')
  const source = createProjectSource({
    dir,
    services: SERVICES,
    packageEntries: await packageEntries(),
    watch: false,
    log: LOG,
    ...options,
  })
  sources.push(source)
  return source
}

const load = (source: ClosableSource) => source.load(new AbortController().signal)
const ids = (units: readonly SourceUnit[]) => units.map(unit => unit.id)
const problems = (unit: SourceUnit | undefined) => (unit && 'broken' in unit ? unit.broken : [])

/** The only unit of a load. */
async function only(source: ClosableSource): Promise<SourceUnit> {
  const units = await load(source)
  expect(units).toHaveLength(1)
  return units[0] as SourceUnit
}

/** What the tool of a unit answers. */
function answer(unit: SourceUnit | undefined): unknown {
  if (!unit || 'broken' in unit) throw new Error(JSON.stringify(problems(unit)))
  return unit.definitions.capabilities[0]?.tools[0]?.handler(undefined as never, undefined as never)
}

describe('what counts as a module', () => {
  it('loads TypeScript and JavaScript, from files and from folders with an index, in alphabetical order', async () => {
    await write('capabilities/b.ts', capability('"b" satisfies string', { key: 'b' }))
    await write('capabilities/a/index.mts', capability('"a"', { key: 'a' }))
    await write('capabilities/d.mjs', capability('"d"', { key: 'd' }))
    await write('capabilities/c.js', capability('"c"', { key: 'c' }))
    const units = await load(await open())
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
      await write(`capabilities/${name}`, 'throw new Error("must not run")')
    }
    expect(await load(await open())).toEqual([])
  })

  it('follows links to files and folders, and names them by the link', async () => {
    await write('elsewhere/real.ts', capability('helper', { head: 'import { helper } from "./near.ts"' }))
    await write('elsewhere/near.ts', 'export const helper = "near the file"')
    await write('shared/index.ts', capability('"folder"'))
    await symlink(join(project, 'elsewhere/real.ts'), join(project, 'capabilities/linked.ts'))
    await symlink(join(project, 'shared'), join(project, 'capabilities/shared'))
    const units = await load(await open())
    expect(ids(units)).toEqual(['capabilities/linked.ts', 'capabilities/shared/index.ts'])
    expect(units.map(answer)).toEqual(['near the file', 'folder'])
  })

  it('finds nothing where there is no folder, and everything once there is one', async () => {
    await rm(join(project, 'capabilities'), { recursive: true })
    const source = await open()
    expect(await load(source)).toEqual([])
    await write('capabilities/weather.ts', capability('"sun"'))
    expect(answer(await only(source))).toBe('sun')
  })

  it('says so when the folder is no folder, instead of finding nothing in it', async () => {
    await rm(join(project, 'capabilities'), { recursive: true })
    await write('capabilities', 'a file')
    await expect(load(await open())).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  it('warns of a module that defines nothing', async () => {
    await write('capabilities/nothing.ts', 'export const x = 1')
    expect(await only(await open())).toMatchObject({
      problems: [{ severity: 'warning', where: 'capabilities/nothing.ts' }],
    })
  })
})

describe('a reload', () => {
  it('gives back the same unit for an unchanged file', async () => {
    await write('capabilities/weather.ts', capability('"sun"'))
    const source = await open()
    expect(await only(source)).toBe(await only(source))
  })

  it('gives back the same unit for a file that was only touched', async () => {
    const file = await write('capabilities/weather.ts', capability('"sun"'))
    const source = await open()
    const before = await only(source)
    await utimes(file, 1, 1)
    expect(await only(source)).toBe(before)
  })

  it('sees an edit, also one that keeps size and time of the file', async () => {
    const file = await write('capabilities/weather.ts', capability('"sun"'))
    const source = await open()
    const before = await only(source)
    const { atime, mtime } = await stat(file)
    await write('capabilities/weather.ts', capability('"fog"'))
    await utimes(file, atime, mtime)
    const after = await only(source)
    expect(answer(after)).toBe('fog')
    expect(answer(before)).toBe('sun')
  })

  it('sees an edited helper, wherever it is', async () => {
    await write(
      'capabilities/weather.ts',
      capability('near() + far()', { head: 'import { near } from "./_near"; import { far } from "../lib/far.ts"' }),
    )
    await write('capabilities/_near.ts', 'export const near = (): string => "a"')
    await write('lib/far.ts', 'export const far = (): string => "b"')
    const source = await open()
    expect(answer(await only(source))).toBe('ab')
    await write('capabilities/_near.ts', 'export const near = (): string => "A"')
    expect(answer(await only(source))).toBe('Ab')
    await write('lib/far.ts', 'export const far = (): string => "B"')
    expect(answer(await only(source))).toBe('AB')
  })

  it('sees new, renamed and deleted files and leaves the others alone', async () => {
    await write('capabilities/a.ts', capability('"a"', { key: 'a' }))
    const source = await open()
    const [a] = await load(source)
    const b = await write('capabilities/b.ts', capability('"b"', { key: 'b' }))
    expect((await load(source)).map(answer)).toEqual(['a', 'b'])
    await rename(b, join(project, 'capabilities/c.ts'))
    expect(ids(await load(source))).toEqual(['capabilities/a.ts', 'capabilities/c.ts'])
    await rm(join(project, 'capabilities/c.ts'))
    const units = await load(source)
    expect(units).toHaveLength(1)
    expect(units[0]).toBe(a)
  })

  it('gets the old unit back when an edit is undone, without running the module again', async () => {
    const runs = '(globalThis as any).runs = ((globalThis as any).runs ?? 0) + 1'
    await write('capabilities/weather.ts', capability('"sun"', { head: runs }))
    const source = await open()
    const before = await only(source)
    await write('capabilities/weather.ts', capability('"fog"', { head: runs }))
    await only(source)
    await write('capabilities/weather.ts', capability('"sun"', { head: runs }))
    expect(await only(source)).toBe(before)
    expect(Reflect.get(globalThis, 'runs')).toBe(2)
  })

  it('answers two loads at once with the same units', async () => {
    await write('capabilities/weather.ts', capability('"sun"'))
    const source = await open()
    const [first, second] = await Promise.all([only(source), only(source)])
    expect(first).toBe(second)
  })
})

describe('what a module can import', () => {
  it('shares the running package, so that instanceof holds on both sides', async () => {
    await write(
      'capabilities/weather.ts',
      capability('new AppError("INTERNAL", "x")', { head: 'import { AppError } from "quartermaster"' }),
    )
    const error = answer(await only(await open()))
    expect(error).toBeInstanceOf(AppError)
  })

  it('explains a part of the package that does not exist', async () => {
    await write('capabilities/weather.ts', 'import "quartermaster/prober"')
    expect(problems(await only(await open()))).toEqual([
      {
        severity: 'error',
        code: 'DEFINITION_INVALID',
        where: 'capabilities/weather.ts',
        message:
          'capabilities/weather.ts:1:8: "quartermaster/prober" does not exist. Did you mean "quartermaster/probes"?',
        mend: 'Import from "quartermaster" or "quartermaster/probes".',
      },
    ])
  })

  it('takes packages from node_modules, modern and CommonJS, as Node itself would load them', async () => {
    await write(
      'node_modules/modern/package.json',
      '{"name":"modern","type":"module","exports":{".":{"module":"./no.js","import":"./yes.js"}}}',
    )
    await write('node_modules/modern/yes.js', 'export const url = import.meta.url')
    await write('node_modules/modern/no.js', 'export const url = "for bundlers"')
    await write('node_modules/@old/common/package.json', '{"name":"@old/common","main":"./lib.js"}')
    await write('node_modules/@old/common/lib.js', 'exports.file = __filename')
    await write(
      'capabilities/weather.ts',
      capability('[url, file]', { head: 'import { url } from "modern"; import { file } from "@old/common"' }),
    )
    const found = [
      pathToFileURL(join(project, 'node_modules/modern/yes.js')).href,
      join(project, 'node_modules/@old/common/lib.js'),
    ]
    expect(answer(await only(await open()))).toEqual(found)
  })

  it('names a missing package and finds it after it was installed', async () => {
    await write('capabilities/weather.ts', capability('x', { head: 'import { x } from "@scope/absent/sub"' }))
    const source = await open()
    expect(problems(await only(source))).toMatchObject([
      {
        where: 'capabilities/weather.ts',
        message: expect.stringContaining('Package "@scope/absent" is not installed'),
        mend: 'Run: npm install @scope/absent',
      },
    ])
    await write('node_modules/@scope/absent/sub.js', 'exports.x = "here"')
    expect(answer(await only(source))).toBe('here')
  })

  it('leaves a package that the code can do without to the code, until it is installed', async () => {
    await write(
      'capabilities/weather.ts',
      capability('found', { head: 'const found = await import("optional").then(m => m.x, () => "without")' }),
    )
    const source = await open()
    expect(answer(await only(source))).toBe('without')
    await write('node_modules/optional/index.js', 'exports.x = "with"')
    expect(answer(await only(source))).toBe('with')
  })

  it('tells a path that a package keeps to itself from a package that is missing', async () => {
    await write('node_modules/modern/package.json', '{"name":"modern","exports":{".":"./a.js"}}')
    await write('capabilities/weather.ts', 'import "modern/secret"')
    expect(problems(await only(await open()))[0]?.message).toContain('is not exported by package "modern"')
  })

  it('takes node builtins, JSON, and helpers in CommonJS', async () => {
    await write('capabilities/data.json', '{"city":"Bern"}')
    await write('capabilities/_old.cjs', 'module.exports = { sep: require("node:path").sep, dir: __dirname }')
    const head =
      'import { sep } from "path"; import data from "./data.json" with { type: "json" }; import old from "./_old.cjs"'
    await write('capabilities/weather.ts', capability('[sep === old.sep, data.city, old.dir]', { head }))
    const source = await open()
    expect(answer(await only(source))).toEqual([true, 'Bern', join(project, 'capabilities')])
    await write('capabilities/data.json', '{"city":"Basel"}')
    expect(answer(await only(source))).toEqual([true, 'Basel', join(project, 'capabilities')])
  })

  it('lets import.meta mean the original file, in the module and in its helpers', async () => {
    const head = 'import { here } from "../lib/here.ts"; const { url } = import.meta'
    const file = await write(
      'capabilities/weather.ts',
      capability('[url, import.meta.dirname, import.meta.filename, here]', { head }),
    )
    const helper = await write('lib/here.ts', '#!/usr/bin/env node\nexport const here = import.meta.url')
    expect(answer(await only(await open()))).toEqual([
      pathToFileURL(file).href,
      dirname(file),
      file,
      pathToFileURL(helper).href,
    ])
  })

  it('hands a module the services it needs, and refuses ones that do not exist', async () => {
    const module = (need: string) => `import { defineCapability, defineModule, defineTool } from 'quartermaster'
      export default defineModule({ needs: ['${need}'], create: services => defineCapability({ key: 'x', short: 'X.', tools: [
        defineTool({ name: 'x', short: 'X.', input: { type: 'object' }, handler: () => services })] }) })`
    await write('capabilities/weather.ts', module('paths'))
    const source = await open()
    expect(answer(await only(source))).toEqual({ paths: SERVICES.paths })
    await write('capabilities/weather.ts', module('path'))
    expect(problems(await only(source))).toMatchObject([
      { where: 'capabilities/weather.ts', message: expect.stringContaining('Did you mean "paths"?') },
    ])
  })
})

describe('a broken module', () => {
  it('is reported with every error and its place, keeps nobody else from loading, and comes back when repaired', async () => {
    await write('capabilities/good.ts', capability('"good"', { key: 'good' }))
    await write('capabilities/bad.ts', 'import "./nowhere"\nimport "./_helper"\n')
    await write('capabilities/_helper.ts', 'export const a = 1\n  export const b: = 2\n')
    const source = await open()
    const [bad, good] = await load(source)
    expect(answer(good)).toBe('good')
    expect(problems(bad)).toEqual([
      {
        severity: 'error',
        code: 'DEFINITION_INVALID',
        where: 'capabilities/bad.ts',
        message: 'capabilities/bad.ts:1:8: "./nowhere" does not exist.',
        mend: 'Create that file, or correct the path.',
      },
      {
        severity: 'error',
        code: 'DEFINITION_INVALID',
        where: 'capabilities/_helper.ts',
        message: 'capabilities/_helper.ts:2:18: Unexpected "=".',
        mend: 'Correct the file and reload.',
      },
    ])
    await write('capabilities/nowhere.ts', 'export {}')
    await write('capabilities/_helper.ts', 'export const b = 2\n')
    await write('capabilities/bad.ts', capability('b', { head: 'import "./nowhere"; import { b } from "./_helper"' }))
    expect((await load(source)).map(unit => problems(unit))).toEqual([[], [], []])
  })

  it('tells the right column on a first line that uses import.meta', async () => {
    await write('capabilities/bad.ts', 'import.meta.url; const x: = 1')
    expect(problems(await only(await open()))[0]?.message).toContain('capabilities/bad.ts:1:27: ')
  })

  it('tells where it threw, also in a helper, and is tried again', async () => {
    await write('capabilities/bad.ts', capability('1', { head: 'import "./_helper.ts"' }))
    await write(
      'capabilities/_helper.ts',
      'interface Gone {}\n\nif (!Reflect.get(globalThis, "ready")) throw new Error("not ready")',
    )
    const source = await open()
    expect(problems(await only(source))).toMatchObject([
      {
        where: 'capabilities/_helper.ts',
        message: expect.stringMatching(/^capabilities\/_helper\.ts:3:\d+: It failed while loading: not ready$/),
        mend: 'Correct the file and reload.',
      },
    ])
    Reflect.set(globalThis, 'ready', true)
    expect(answer(await only(source))).toBe(1)
  })

  it('is reported when it is a link that leads nowhere', async () => {
    await symlink(join(project, 'gone.ts'), join(project, 'capabilities/link.ts'))
    expect(problems(await only(await open()))).toMatchObject([
      { where: 'capabilities/link.ts', message: 'It cannot be read.' },
    ])
  })

  it('does not hold the others when its import never ends', async () => {
    await write('capabilities/hangs.ts', capability('1', { head: 'await new Promise(() => {})' }))
    await write('capabilities/good.ts', capability('"good"', { key: 'good' }))
    const source = await open({ importTimeoutMs: 50 })
    const [good, hangs] = await load(source)
    expect(answer(good)).toBe('good')
    expect(problems(hangs)).toMatchObject([
      { where: 'capabilities/hangs.ts', message: 'It was still loading after 50 ms.' },
    ])
  })

  it('is given up when the load is stopped', async () => {
    const controller = new AbortController()
    Reflect.set(globalThis, 'stop', () => controller.abort())
    await write(
      'capabilities/hangs.ts',
      capability('1', { head: '(globalThis as any).stop(); await new Promise(() => {})' }),
    )
    const units = await (await open()).load(controller.signal)
    expect(units.map(unit => problems(unit)[0]?.message)).toEqual(['Loading was stopped before this file was done.'])
  })

  it('is taken up when its import ends after all', async () => {
    let finish = () => {}
    Reflect.set(globalThis, 'slow', new Promise<void>(resolve => (finish = resolve)))
    await write('capabilities/slow.ts', capability('"late"', { head: 'await (globalThis as any).slow' }))
    const source = await open({ importTimeoutMs: 50, watch: true, debounceMs: 1 })
    expect(problems(await only(source))).toHaveLength(1)
    const changed = new Promise<void>(resolve => source.onChange(resolve))
    finish()
    await changed
    expect(answer(await only(source))).toBe('late')
  })
})

it('leaves no files behind, whatever became of the modules', async () => {
  await write('capabilities/good.ts', capability('1'))
  await write('capabilities/throws.ts', 'throw new Error("no")')
  await write('capabilities/broken.ts', 'const = 1')
  await write('capabilities/hangs.ts', 'await new Promise(() => {})')
  await load(await open({ importTimeoutMs: 50 }))
  expect(await readdir(temporary)).toEqual([])
  expect(await readdir(project)).toEqual(['capabilities'])
})
