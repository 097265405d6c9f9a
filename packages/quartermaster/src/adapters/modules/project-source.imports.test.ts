import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { answer, capability, only, problems, SERVICES, useCapabilityProject } from './testing/capability-project.ts'

const project = useCapabilityProject()

it('shares the running package, so that instanceof holds on both sides', async () => {
  await project.write(
    'capabilities/weather.ts',
    capability('new AppError("INTERNAL", "x")', { head: 'import { AppError } from "quartermaster"' }),
  )
  const error = answer(await only(await project.open()))
  expect(error).toBeInstanceOf(AppError)
})

it('explains a part of the package that does not exist', async () => {
  await project.write('capabilities/weather.ts', 'import "quartermaster/prober"')
  expect(problems(await only(await project.open()))).toEqual([
    {
      severity: 'error',
      code: 'DEFINITION_INVALID',
      where: 'capabilities/weather.ts',
      message:
        'capabilities/weather.ts:1:8: "quartermaster/prober" does not exist. Did you mean "quartermaster/probes"?',
      fix: 'Import from "quartermaster" or "quartermaster/probes".',
    },
  ])
})

it('takes packages from node_modules, modern and CommonJS, as Node itself would load them', async () => {
  await project.write(
    'node_modules/modern/package.json',
    '{"name":"modern","type":"module","exports":{".":{"module":"./no.js","import":"./yes.js"}}}',
  )
  await project.write('node_modules/modern/yes.js', 'export const url = import.meta.url')
  await project.write('node_modules/modern/no.js', 'export const url = "for bundlers"')
  await project.write('node_modules/@old/common/package.json', '{"name":"@old/common","main":"./lib.js"}')
  await project.write('node_modules/@old/common/lib.js', 'exports.file = __filename')
  await project.write(
    'capabilities/weather.ts',
    capability('[url, file]', { head: 'import { url } from "modern"; import { file } from "@old/common"' }),
  )
  const found = [
    pathToFileURL(project.path('node_modules/modern/yes.js')).href,
    project.path('node_modules/@old/common/lib.js'),
  ]
  expect(answer(await only(await project.open()))).toEqual(found)
})

it('names a missing package and finds it after it was installed', async () => {
  await project.write('capabilities/weather.ts', capability('x', { head: 'import { x } from "@scope/absent/sub"' }))
  const source = await project.open()
  expect(problems(await only(source))).toMatchObject([
    {
      where: 'capabilities/weather.ts',
      message: expect.stringContaining('Package "@scope/absent" is not installed'),
      fix: 'Run: npm install @scope/absent',
    },
  ])
  await project.write('node_modules/@scope/absent/sub.js', 'exports.x = "here"')
  expect(answer(await only(source))).toBe('here')
})

it('leaves a package that the code can do without to the code, until it is installed', async () => {
  await project.write(
    'capabilities/weather.ts',
    capability('found', { head: 'const found = await import("optional").then(m => m.x, () => "without")' }),
  )
  const source = await project.open()
  expect(answer(await only(source))).toBe('without')
  await project.write('node_modules/optional/index.js', 'exports.x = "with"')
  expect(answer(await only(source))).toBe('with')
})

it('tells a path that a package keeps to itself from a package that is missing', async () => {
  await project.write('node_modules/modern/package.json', '{"name":"modern","exports":{".":"./a.js"}}')
  await project.write('capabilities/weather.ts', 'import "modern/secret"')
  expect(problems(await only(await project.open()))[0]?.message).toContain('is not exported by package "modern"')
})

it('takes node builtins, JSON, and helpers in CommonJS', async () => {
  await project.write('capabilities/data.json', '{"city":"Bern"}')
  await project.write('capabilities/_old.cjs', 'module.exports = { sep: require("node:path").sep, dir: __dirname }')
  const head =
    'import { sep } from "path"; import data from "./data.json" with { type: "json" }; import old from "./_old.cjs"'
  await project.write('capabilities/weather.ts', capability('[sep === old.sep, data.city, old.dir]', { head }))
  const source = await project.open()
  expect(answer(await only(source))).toEqual([true, 'Bern', project.path('capabilities')])
  await project.write('capabilities/data.json', '{"city":"Basel"}')
  expect(answer(await only(source))).toEqual([true, 'Basel', project.path('capabilities')])
})

it('lets import.meta mean the original file, in the module and in its helpers', async () => {
  const head = 'import { here } from "../lib/here.ts"; const { url } = import.meta'
  const file = await project.write(
    'capabilities/weather.ts',
    capability('[url, import.meta.dirname, import.meta.filename, here]', { head }),
  )
  const helper = await project.write('lib/here.ts', '#!/usr/bin/env node\nexport const here = import.meta.url')
  expect(answer(await only(await project.open()))).toEqual([
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
  await project.write('capabilities/weather.ts', module('paths'))
  const source = await project.open()
  expect(answer(await only(source))).toEqual({ paths: SERVICES.paths })
  await project.write('capabilities/weather.ts', module('path'))
  expect(problems(await only(source))).toMatchObject([
    { where: 'capabilities/weather.ts', message: expect.stringContaining('Did you mean "paths"?') },
  ])
})
