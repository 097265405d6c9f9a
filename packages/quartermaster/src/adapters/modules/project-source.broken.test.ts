import { symlink } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { answer, capability, load, only, problems, useCapabilityProject } from './testing/capability-project.ts'

const project = useCapabilityProject()

it('reports a broken module with every error and its place, loads the rest, and takes it back when repaired', async () => {
  await project.write('capabilities/good.ts', capability('"good"', { key: 'good' }))
  await project.write('capabilities/bad.ts', 'import "./nowhere"\nimport "./_helper"\n')
  await project.write('capabilities/_helper.ts', 'export const a = 1\n  export const b: = 2\n')
  const source = await project.open()
  const [bad, good] = await load(source)
  expect(answer(good)).toBe('good')
  expect(problems(bad)).toEqual([
    {
      severity: 'error',
      code: 'DEFINITION_INVALID',
      where: 'capabilities/_helper.ts',
      message: 'capabilities/_helper.ts:2:19: Unexpected "=".',
      fix: 'Correct the file and reload.',
    },
    {
      severity: 'error',
      code: 'DEFINITION_INVALID',
      where: 'capabilities/bad.ts',
      message: 'capabilities/bad.ts:1:8: "./nowhere" does not exist.',
      fix: 'Create that file, or correct the path.',
    },
  ])
  await project.write('capabilities/nowhere.ts', 'export {}')
  await project.write('capabilities/_helper.ts', 'export const b = 2\n')
  await project.write(
    'capabilities/bad.ts',
    capability('b', { head: 'import "./nowhere"; import { b } from "./_helper"' }),
  )
  expect((await load(source)).map(unit => problems(unit))).toEqual([[], [], []])
})

it('tells the right column on a first line that uses import.meta', async () => {
  await project.write('capabilities/bad.ts', 'import.meta.url; const x: = 1')
  expect(problems(await only(await project.open()))[0]?.message).toContain('capabilities/bad.ts:1:27: ')
})

it('tells where a module threw, also in a helper, and tries it again', async () => {
  await project.write('capabilities/bad.ts', capability('1', { head: 'import "./_helper.ts"' }))
  await project.write(
    'capabilities/_helper.ts',
    'interface Gone {}\n\nif (!Reflect.get(globalThis, "ready")) throw new Error("not ready")',
  )
  const source = await project.open()
  expect(problems(await only(source))).toMatchObject([
    {
      where: 'capabilities/_helper.ts',
      message: expect.stringMatching(/^capabilities\/_helper\.ts:3:\d+: It failed while loading: not ready$/),
      fix: 'Correct the file and reload.',
    },
  ])
  Reflect.set(globalThis, 'ready', true)
  expect(answer(await only(source))).toBe(1)
})

it('reports a link that leads nowhere', async () => {
  await symlink(project.path('gone.ts'), project.path('capabilities/link.ts'))
  expect(problems(await only(await project.open()))).toMatchObject([
    { where: 'capabilities/link.ts', message: 'It cannot be read.' },
  ])
})

it('does not hold the others when the import of one never ends', async () => {
  await project.write('capabilities/hangs.ts', capability('1', { head: 'await new Promise(() => {})' }))
  await project.write('capabilities/good.ts', capability('"good"', { key: 'good' }))
  const source = await project.open({ importTimeoutMs: 50 })
  const [good, hangs] = await load(source)
  expect(answer(good)).toBe('good')
  expect(problems(hangs)).toMatchObject([
    { where: 'capabilities/hangs.ts', message: 'It was still loading after 50 ms.' },
  ])
})

it('gives an import up when the load is stopped', async () => {
  const controller = new AbortController()
  Reflect.set(globalThis, 'stop', () => controller.abort())
  await project.write(
    'capabilities/hangs.ts',
    capability('1', { head: 'globalThis.stop(); await new Promise(() => {})' }),
  )
  const units = await (await project.open()).load(controller.signal)
  expect(units.map(unit => problems(unit)[0]?.message)).toEqual(['Loading was stopped before this file was done.'])
})

it('takes a module up when its import ends after all', async () => {
  let finish = () => {}
  Reflect.set(globalThis, 'slow', new Promise<void>(resolve => (finish = resolve)))
  await project.write('capabilities/slow.ts', capability('"late"', { head: 'await globalThis.slow' }))
  const source = await project.open({ importTimeoutMs: 50, watch: true })
  expect(problems(await only(source))).toHaveLength(1)
  const changed = new Promise<void>(resolve => source.onChange(resolve))
  finish()
  await changed
  expect(answer(await only(source))).toBe('late')
})
