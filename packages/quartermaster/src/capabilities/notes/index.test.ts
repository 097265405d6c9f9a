import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createEffectKinds } from '../../adapters/effects/index.ts'
import { type Capability, collectDefinitions, type DescribedSchema } from '../../core/catalogue/index.ts'
import { builtinUnit } from '../../testing/builtin-unit.ts'
import { createHub, type Hub } from '../../testing/hub.ts'
import { type TempProject, tempProject } from '../../testing/temp-project.ts'
import notesModule from './index.ts'
import { restServer } from './testing/rest-server.ts'

const paths = { projectDir: '/project', dataDir: '/project/.quartermaster' }
const services = { paths, secrets: { get: () => undefined }, registry: { dependencies: () => [] } as never }

function notesCapability(): Capability {
  const { capabilities, problems } = collectDefinitions({ default: notesModule }, services, 'notes')
  expect(problems).toEqual([])
  return capabilities[0] as Capability
}

describe('the notes capability', () => {
  it('asks for consent to whatever changes something, and says what may be tried again by itself', () => {
    const { key, tools, consentOperations } = notesCapability()
    expect(key).toBe('notes')
    const asks = tools.map(({ name, consent = [] }) => [name, consent])
    expect(asks).toEqual(tools.map(({ name, mutates }) => [name, mutates ? ['notes.write'] : []]))
    // What is appended twice stands there twice.
    const again = tools.filter(({ mutates }) => mutates).map(({ name, idempotent, retry }) => [name, idempotent, retry])
    expect(again).toEqual([
      ['note_append', false, undefined],
      ['task_create', true, 'verifyFirst'],
      ['task_update', true, 'replay'],
      ['task_complete', true, 'replay'],
    ])
    expect(consentOperations).toMatchObject([{ name: 'notes.write', weight: 'moderate' }])
  })

  it('asks for consent to the vault that an agent has, and to no other that a link leads to later', async () => {
    const dir = await realpath(await mkdtemp(join(tmpdir(), 'vaults-')))
    onTestFinished(() => rm(dir, { recursive: true }))
    const scope = notesCapability().consentOperations[0]?.scope
    const vault = join(dir, 'mine')
    const named = async () =>
      typeof scope === 'function' && scope({ tool: 'note_append', input: {}, config: { vault } })
    expect(await named()).toBe(vault)
    for (const one of ['one', 'two']) {
      await mkdir(join(dir, one))
      await rm(vault, { force: true })
      await symlink(join(dir, one), vault)
      expect(await named()).toBe(join(dir, one))
    }
  })

  it.each([
    [{ vault: 'notes' }, true],
    [{ vault: 'notes', taskList: 'Lists/Mine', taskFolder: '.' }, true],
    [{ vault: 'notes', rest: { url: 'https://127.0.0.1:27124', secret: 'KEY' } }, true],
    [{ vault: 'notes', rest: { url: 'http://localhost:27123/', secret: 'KEY', certificate: 'a.pem' } }, true],
    [{}, false],
    [{ vault: '' }, false],
    [{ vault: '~/notes' }, false],
    [{ vault: 'notes', taskList: '../Tasks.md' }, false],
    [{ vault: 'notes', taskFolder: '.obsidian' }, false],
    [{ vault: 'notes', rest: { url: 'https://example.com', secret: 'KEY' } }, false],
    [{ vault: 'notes', rest: { url: 'https://127.0.0.1.example.com', secret: 'KEY' } }, false],
    [{ vault: 'notes', rest: { url: 'https://127.0.0.1@example.com', secret: 'KEY' } }, false],
    [{ vault: 'notes', rest: { url: 'https://127.0.0.1:27124' } }, false],
    [{ vault: 'notes', other: true }, false],
  ])('accepts the configuration %j: %s', async (config, accepted) => {
    const checked = await (notesCapability().config as DescribedSchema)['~standard'].validate(config)
    expect(checked.issues === undefined).toBe(accepted)
  })

  it('explains every tool, every field and an example that its own schema accepts', async () => {
    for (const tool of notesCapability().tools) {
      const schema = tool.input as DescribedSchema
      const { properties } = schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' }) as {
        properties: Record<string, { description?: string }>
      }
      for (const property of Object.values(properties)) expect(property.description).toBeTruthy()
      for (const { input } of tool.examples ?? [])
        expect((await schema['~standard'].validate(input)).issues).toBeUndefined()
      expect(tool).toMatchObject({ section: 'notes', command: { name: tool.name.replace('_', '-') } })
      expect(tool.whenToUse).toContain('It ')
    }
  })
})

/** A whole core with an agent that has the vault of a project. */
async function hubWith(project: TempProject, settings: object = {}): Promise<Hub> {
  const hubs: Hub[] = []
  const unit = builtinUnit(notesModule, {
    paths: { projectDir: project.dir, dataDir: project.path('.quartermaster') },
    secrets: { get: () => 'key' },
    registry: { dependencies: () => hubs[0]?.health.dependencies() ?? [] } as never,
  })
  const connections = { get: () => undefined }
  const hub = await createHub({
    units: { notes: unit },
    agents: {
      writer: { capabilities: { notes: { vault: 'vault', ...settings } }, consent: { allow: ['notes.write'] } },
    },
    effectKinds: createEffectKinds({ projectDir: project.dir, connections }),
  })
  hubs.push(hub)
  return hub
}

describe('in a gateway', () => {
  it('a task is created through the whole call path, and both effects are verified', async () => {
    const project = await tempProject({ 'vault/Tasks.md': '# Mine\n' })
    const hub = await hubWith(project)
    expect(hub.catalogue.problems()).toEqual([])
    const answer = await hub.callAs('writer', 'task_create', { title: 'Buy {milk}', due: '2026-12-01' })
    expect(answer).toMatchObject({
      result: { structuredContent: { note: 'Tasks/Buy {milk}.md', through: 'disk' } },
    })
    expect(await project.read('vault/Tasks.md')).toBe('# Mine\n- [ ] [[Tasks/Buy {milk}]] 📅 2026-12-01\n')
    await expect(hub.operationAdmin.verify(answer.operationId)).rejects.toThrow(
      'all its effects were there when it ended',
    )
  })

  it('a task that is done or listed already ends with a new line, or with nothing made', async () => {
    const project = await tempProject({
      'vault/Tasks.md': '- [x] [[Tasks/Water]] ✅ 2026-10-01\n- [ ] [[tasks/call bob]]\n',
    })
    const hub = await hubWith(project)
    const again = await hub.callAs('writer', 'task_create', { title: 'Water' })
    expect(again).toMatchObject({ result: { structuredContent: { note: 'Tasks/Water.md' } } })
    const listed = await hub.callAs('writer', 'task_create', { title: 'Call Bob' })
    expect(listed).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringContaining('in line 2') }] },
    })
    expect(await project.read('vault/Tasks.md')).toBe(
      '- [x] [[Tasks/Water]] ✅ 2026-10-01\n- [ ] [[tasks/call bob]]\n- [ ] [[Tasks/Water]]\n',
    )
  })

  it('Obsidian is a dependency once an agent has it configured, and not before', async () => {
    const project = await tempProject({ 'vault/A.md': 'text\n' })
    const without = await hubWith(project)
    without.toolNamesFor('writer')
    expect(without.health.dependencies()).toEqual([])
    const rest = await restServer({ vault: project.path('vault'), key: 'key' })
    const hub = await hubWith(project, { rest: { url: rest.url, secret: 'KEY' } })
    expect(hub.toolNamesFor('writer')).toHaveLength(7)
    await hub.health.recheck('dependency:obsidian', { force: true })
    expect(hub.health.dependencies()).toMatchObject([{ name: 'obsidian', state: 'up' }])
    expect(await hub.callAs('writer', 'note_read', { note: 'A' })).toMatchObject({
      result: { structuredContent: { through: 'obsidian' } },
    })
    await rest.stop()
    expect(await hub.callAs('writer', 'note_read', { note: 'A' })).toMatchObject({
      result: { structuredContent: { text: 'text\n', through: 'disk' } },
    })
    await expect.poll(() => hub.health.dependency('obsidian').state).toBe('recovering')
    expect(hub.toolNamesFor('writer')).toHaveLength(7)
  })
})
