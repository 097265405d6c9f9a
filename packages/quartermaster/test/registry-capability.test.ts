import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createQuartermaster, type Quartermaster } from '../src/index.ts'
import { makeProject, writeFiles } from './support/product.ts'

const homeSource = (dir: string, greeting: string) => `
import { defineCapability, defineDependency, defineTool } from 'quartermaster'
import { existsSync } from 'node:fs'
const door = defineDependency({
  name: 'door',
  probe: async () => (existsSync(${JSON.stringify(join(dir, 'key'))}) ? { up: true } : { up: false, reason: 'it is locked' }),
})
const house = defineDependency({ name: 'house', dependsOn: ['door'], probe: async () => ({ up: true }) })
const greet = defineTool({ name: 'greet', short: 'Greets.', input: { type: 'object' }, mutates: false, handler: () => '${greeting}' })
const enter = defineTool({ name: 'enter', short: 'Enters.', input: { type: 'object' }, requires: ['house'], handler: () => 'in' })
export default defineCapability({ key: 'home', short: 'Home.', tools: [greet, enter], dependencies: [door, house] })
`

async function open(): Promise<{ quartermaster: Quartermaster; dir: string; ask: Ask }> {
  const dir = await makeProject({
    'agents/keeper.json': '{ "capabilities": { "registry": {} } }',
    'agents/guest.json': '{ "capabilities": { "home": {} } }',
  })
  await writeFiles(dir, { 'capabilities/home.ts': homeSource(dir, 'hello') })
  const quartermaster = await createQuartermaster({ dir, env: {} })
  onTestFinished(() => quartermaster.stop())
  const ask: Ask = async (tool, input = {}) =>
    (await quartermaster.call({ agent: 'keeper', tool, input })).result.structuredContent as never
  return { quartermaster, dir, ask }
}

type Ask = (tool: string, input?: object) => Promise<Record<string, unknown>>

describe('registry_status', () => {
  it('shows what is in trouble, the dependencies with their reasons, and what is wrong', async () => {
    const { ask } = await open()
    expect(await ask('registry_status')).toMatchObject({
      disabled: 1,
      tools: [
        { name: 'enter', capability: 'home', state: 'disabled', reason: expect.stringContaining('it is locked') },
      ],
      dependencies: [
        { name: 'door', state: 'down', reason: 'it is locked' },
        { name: 'house', state: 'down' },
      ],
      problems: [],
      isCut: false,
    })
    const { tools } = (await ask('registry_status', { state: 'active' })) as { tools: { name: string }[] }
    expect(tools.map(tool => tool.name)).toContain('greet')
    expect(tools.map(tool => tool.name)).not.toContain('enter')
  })

  it.each([
    ['dependency:door', ['enter'], ['door']],
    ['tool:enter', ['enter'], ['door', 'house']],
    ['capability:home', ['greet', 'enter'], ['door', 'house']],
    ['greet', ['greet'], []],
  ])('narrows to what belongs to %s', async (name, tools, dependencies) => {
    const { ask } = await open()
    expect(await ask('registry_status', { name })).toMatchObject({
      tools: tools.map(one => expect.objectContaining({ name: one })),
      dependencies: dependencies.map(one => expect.objectContaining({ name: one })),
    })
  })

  it('answers with what is wrong with a name and the file it comes from, also where there is no such tool for that reason', async () => {
    const { ask, dir } = await open()
    const declared = '---\nschema: 1\nop: op.no.such\nname: fly\nshort: Flies.\n---\n'
    await writeFiles(dir, {
      'capabilities/home.ts': 'export default {{',
      'capabilities/attic.ts': 'export default {{',
      'knowledge/air/fly.md': declared,
      'knowledge/note.md': '---\nkind: concept\n---\n',
    })
    await ask('registry_reload')
    const told = (where: string) => ({ problems: [expect.objectContaining({ where: expect.stringContaining(where) })] })
    expect(await ask('registry_status', { name: 'greet' })).toMatchObject({
      tools: [{ name: 'greet', state: 'active' }],
      ...told('capabilities/home.ts'),
    })
    const fly = { name: 'fly', capability: 'air', reason: expect.stringContaining('wrong') }
    expect(await ask('registry_status', { name: 'fly' })).toMatchObject({
      tools: [],
      withheld: [fly],
      ...told('knowledge/air/fly.md'),
    })
    expect(await ask('registry_status')).toMatchObject({ withheld: [fly] })
    expect(await ask('registry_status', { name: 'attic' })).toMatchObject({
      tools: [],
      ...told('capabilities/attic.ts'),
    })
    expect(await ask('registry_status', { name: 'note' })).toMatchObject({ tools: [], ...told('knowledge/note.md') })
  })

  it('suggests the name that was meant', async () => {
    const { quartermaster } = await open()
    const call = quartermaster.call({ agent: 'keeper', tool: 'registry_status', input: { name: 'gret' } })
    await expect(call).rejects.toMatchObject({ code: 'NAME_UNKNOWN', message: expect.stringContaining('"greet"') })
  })
})

describe('registry_recheck', () => {
  it('brings back what works again', async () => {
    const { ask, dir, quartermaster } = await open()
    expect(await ask('registry_recheck', { name: 'enter' })).toMatchObject({ active: false, probed: ['door'] })
    await writeFiles(dir, { key: '' })
    expect(await ask('registry_recheck', { name: 'capability:home' })).toMatchObject({ active: false, probed: [] })
    expect(await ask('registry_recheck', { name: 'enter', force: true })).toEqual({
      active: true,
      missing: [],
      probed: ['door', 'house'],
    })
    expect(quartermaster.disabled()).toEqual([])
  })
})

describe('registry_reload', () => {
  it('loads changes from inside a call, and says what they are', async () => {
    const { ask, dir, quartermaster } = await open()
    await writeFiles(dir, {
      'capabilities/home.ts': homeSource(dir, 'good day'),
      'capabilities/broken.ts': 'export default nonsense(',
    })
    expect(await ask('registry_reload')).toMatchObject({
      changed: expect.arrayContaining(['tool:greet', 'capability:home']),
      removed: [],
      rejected: [{ where: expect.stringContaining('broken.ts') }],
    })
    const { result } = await quartermaster.call({ agent: 'guest', tool: 'greet' })
    expect(result.content).toEqual([{ type: 'text', text: 'good day' }])
  })

  it('tells of a configuration and of files of agents that it does not take in', async () => {
    const { ask, dir } = await open()
    await writeFiles(dir, {
      'quartermaster.config.json': '{ "mcpServers": {',
      'agents/guest.json': '{ "capabilities": 1 }',
    })
    expect(await ask('registry_reload')).toMatchObject({
      changed: [],
      rejected: [
        { where: expect.stringContaining('quartermaster.config.json'), severity: 'error' },
        { where: expect.stringContaining('agents/guest.json'), severity: 'error' },
      ],
    })
  })

  it('answers also when it takes the capability of its own caller away', async () => {
    const { ask, dir, quartermaster } = await open()
    await writeFiles(dir, { 'agents/keeper.json': '{ "capabilities": {} }' })
    expect(await ask('registry_reload')).toMatchObject({ rejected: [] })
    const again = quartermaster.call({ agent: 'keeper', tool: 'registry_reload' })
    await expect(again).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
  })

  it('shares one build between those who ask at once', async () => {
    const { ask } = await open()
    const reports = await Promise.all([1, 2, 3, 4].map(() => ask('registry_reload')))
    expect(new Set(reports.map(report => report.generation)).size).toBe(1)
  })
})

it('is for those who were given it', async () => {
  const { quartermaster } = await open()
  const call = quartermaster.call({ agent: 'guest', tool: 'registry_status' })
  await expect(call).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
})
