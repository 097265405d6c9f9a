import { rm } from 'node:fs/promises'
import { expect, it } from 'vitest'
import type { SourceUnit } from '../../core/catalogue/index.ts'
import { answer, capability, load, only, problems, useCapabilityProject } from './testing/capability-project.ts'

const project = useCapabilityProject()

const hashOf = (unit: SourceUnit) => ('hash' in unit ? unit.hash : problems(unit))

it('keeps a broken file from spoiling those it is bundled with, and says the same of it as when it is alone', async () => {
  const broken = 'import { b } from "./_helper.ts"\nexport default b +\n'
  await project.write('capabilities/_helper.ts', 'export const a = 1\nexport const b = 2')
  await project.write('capabilities/b.ts', broken)
  const alone = await only(await project.open())
  await project.write('capabilities/a.ts', capability('a', { key: 'a', head: 'import { a } from "./_helper.ts"' }))
  await project.write('capabilities/c.ts', capability('"c"', { key: 'c' }))
  await project.write('capabilities/d.ts', 'throw new Error("not today")')
  const [a, b, c, d] = await load(await project.open())
  expect([answer(a), answer(c)]).toEqual([1, 'c'])
  expect(problems(b)).toMatchObject([
    { where: 'capabilities/b.ts', message: 'capabilities/b.ts:3:1: Unexpected end of file.' },
  ])
  expect(b).toEqual(alone)
  expect(problems(d)).toMatchObject([{ message: expect.stringContaining('not today') }])
})

it('gives a file the same hash whichever others it is bundled with', async () => {
  await project.write('capabilities/_helper.ts', 'export const a = () => 1\nexport const b = () => 2')
  await project.write('capabilities/_data.json', '{"city":"Bern"}')
  await project.write('capabilities/_either/package.json', '{"module":"./module.js"}')
  await project.write('capabilities/_either/module.js', 'export const kind = "module"')
  await project.write('capabilities/_either/index.js', 'exports.kind = "common"')
  const files = {
    'one-export.ts': 'import { a } from "./_helper.ts"; export default a',
    'other-export.ts': 'import { b } from "./_helper.ts"; export default b',
    'required.ts': 'export default require("./_helper.ts")',
    'on-demand.ts': 'export default () => import("./_helper.ts")',
    'with-suffix.ts': 'import { a } from "./_helper.ts?fresh"; export default a',
    'plain-json.ts': 'import data from "./_data.json"; export default data',
    'json-with-attributes.ts': 'import data from "./_data.json" with { type: "json" }; export default data',
    'either-imported.ts': 'import { kind } from "./_either"; export default kind',
    'either-required.ts': 'export default require("./_either").kind',
    'folder/index.ts': 'import { a } from "../_helper.ts"; export default a',
  }
  const alone: [string, unknown][] = []
  for (const [name, text] of Object.entries(files)) {
    const file = await project.write(`capabilities/${name}`, text)
    const unit = await only(await project.open())
    alone.push([unit.id, hashOf(unit)])
    await rm(file)
  }
  for (const [name, text] of Object.entries(files)) await project.write(`capabilities/${name}`, text)
  const together = (await load(await project.open())).map(unit => [unit.id, hashOf(unit)] as const)
  expect(Object.fromEntries(together)).toEqual(Object.fromEntries(alone))
  expect(new Set(alone.map(([, hash]) => hash)).size).toBe(Object.keys(files).length)
})

it('builds only those again that use an edited helper, although all were bundled together', async () => {
  const using = (helper: string) => capability('word', { key: helper, head: `import { word } from "./_${helper}"` })
  for (const name of ['near', 'far']) {
    await project.write(`capabilities/_${name}.ts`, `export const word = "${name}"`)
    await project.write(`capabilities/${name}.ts`, using(name))
    await project.write(`capabilities/other-${name}.ts`, using(name))
  }
  const source = await project.open()
  const before = await load(source)
  await project.write('capabilities/_far.ts', 'export const word = "away"')
  const after = await load(source)
  expect(after.map(answer)).toEqual(['away', 'near', 'away', 'near'])
  expect(after.map((unit, index) => unit === before[index])).toEqual([false, true, false, true])
})

it('tries what a missing package kept incomplete again, and leaves what it was bundled with alone', async () => {
  const head = 'const found = await import("optional").then(m => m.x, () => "without")'
  await project.write('capabilities/a.ts', capability('found', { key: 'a', head }))
  await project.write('capabilities/b.ts', capability('"b"', { key: 'b' }))
  const source = await project.open()
  const before = await load(source)
  expect(before.map(answer)).toEqual(['without', 'b'])
  await project.write('node_modules/optional/index.js', 'exports.x = "with"')
  const after = await load(source)
  expect(after.map(answer)).toEqual(['with', 'b'])
  expect(after[1]).toBe(before[1])
})

it('knows the sources of a file and its helpers as they are written, without packages and places', async () => {
  const text = capability('word', { head: 'import { word } from "./_word.ts"; import { far } from "far/index.ts"' })
  await project.write('node_modules/far/index.ts', 'export const far = 1')
  await project.write('capabilities/_word.ts', 'export const word = "near"')
  await project.write('capabilities/near.ts', text)
  const sources = async () => {
    const unit = await only(await project.open())
    return 'sources' in unit ? unit.sources : problems(unit)
  }
  const written = await sources()
  await project.write('node_modules/far/index.ts', 'export const far = 2')
  expect(await sources()).toBe(written)
  await project.write('capabilities/near.ts', `${text}// A remark.\n`)
  expect(await sources()).not.toBe(written)
  await project.write('capabilities/near.ts', text)
  expect(await sources()).toBe(written)
  await project.write('capabilities/_word.ts', 'export const word = /* A remark. */ "near"')
  expect(await sources()).not.toBe(written)
})
