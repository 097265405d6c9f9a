import { readdirSync } from 'node:fs'
import { beforeAll, expect, it } from 'vitest'
import { createEffectKinds } from '../../src/adapters/effects/index.ts'
import type { AnyTool } from '../../src/core/catalogue/index.ts'
import { commandUsage } from '../../src/core/kernel/index.ts'
import { builtinUnit } from '../../src/testing/builtin-unit.ts'
import { createHub, type UnitContents } from '../../src/testing/hub.ts'

const FOLDER = new URL('../../src/capabilities/', import.meta.url)

/** Definitions are only looked at here, so whatever else they would use has nothing to do. */
const SERVICES: Readonly<Record<string, unknown>> = {
  paths: { projectDir: '/project', dataDir: '/project/.quartermaster' },
  secrets: { get: () => undefined },
}

function servicesFor({ needs = [] }: { needs?: readonly string[] }): object {
  return Object.fromEntries(needs.map(name => [name, SERVICES[name] ?? (() => {})]))
}

/** Of every folder that has one, so that none is forgotten. */
let units: Record<string, UnitContents>
let definitions: readonly AnyTool[]
beforeAll(async () => {
  const modules = readdirSync(FOLDER).filter(name => name !== 'shared')
  const loaded = modules.map(async name => {
    const { default: module } = (await import(new URL(`${name}/index.ts`, FOLDER).href)) as { default: object }
    return [name, builtinUnit(module, servicesFor(module))] as const
  })
  units = Object.fromEntries(await Promise.all(loaded))
  definitions = Object.values(units).flatMap(({ capabilities = [], injections = [] }) =>
    [...capabilities, ...injections].flatMap(({ tools }) => tools as readonly AnyTool[]),
  )
})

it('every tool has a command decision of its own, or says why it has no command', () => {
  expect(definitions.length).toBeGreaterThan(30)
  expect(definitions.filter(({ command }) => command === undefined).map(({ name }) => name)).toEqual([])
})

it('every command leads to one tool, and those that people have long typed lead where they did', async () => {
  const effectKinds = createEffectKinds({ projectDir: '/project', connections: { get: () => undefined } })
  const hub = await createHub({ builtin: units, effectKinds })
  expect(hub.catalogue.problems()).toEqual([])
  const tools = [...hub.catalogue.current().tools.values()]
  expect(tools).toHaveLength(definitions.length)
  const words = tools.flatMap(tool => {
    const { name, flag } = commandUsage(tool) ?? {}
    return name === undefined ? [] : [[flag === undefined ? name : `${name} --${flag}`, tool.name] as const]
  })
  expect(new Set(words.map(([word]) => word)).size).toBe(words.length)
  expect(Object.fromEntries(words)).toMatchObject({
    peers: 'list_peers',
    delegate: 'delegate_task',
    'delegate --async': 'delegate_task_async',
    status: 'check_task_status',
    info: 'get_workspace_info',
  })
})
