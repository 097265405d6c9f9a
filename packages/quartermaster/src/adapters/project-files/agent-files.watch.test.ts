import { rename, rm } from 'node:fs/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { tempProject } from '../../testing/temp-project.ts'
import { createAgentFiles, type ProjectChange } from './index.ts'

const noSecrets = { get: () => undefined }

function recordingLog() {
  const lines: string[] = []
  const add = (message: string) => void lines.push(message)
  return { lines, log: { debug: add, info: add, warn: add, error: add } }
}

/** A watched project; `next` resolves with the next change of this kind. */
async function watched(files: Record<string, unknown>, options: { configFile?: string } = {}) {
  const project = await tempProject(files)
  const { lines, log } = recordingLog()
  const configFile = options.configFile === undefined ? {} : { configFile: project.path(options.configFile) }
  const agents = createAgentFiles({
    projectDir: project.dir,
    env: {},
    secrets: noSecrets,
    watch: true,
    log,
    ...configFile,
  })
  onTestFinished(() => agents.close())
  const changes: ProjectChange[] = []
  const waiting = new Set<() => void>()
  agents.onChange(change => {
    changes.push(change)
    for (const look of waiting) look()
  })
  await agents.watching()
  // What may have been edited before is told once.
  expect(changes.splice(0)).toEqual([{ agents: true, config: true }])
  const next = (kind: keyof ProjectChange) => {
    const seen = changes.length
    return new Promise<void>(resolve => {
      waiting.add(() => changes.slice(seen).some(change => change[kind]) && resolve())
    })
  }
  return { ...project, agents, changes, lines, next }
}

describe('watching the project', () => {
  it("notices that an agent's file is added, edited, replaced and deleted", async () => {
    const project = await watched({ 'agents/a.json': { capabilities: {} } })
    const steps = [
      () => project.write('agents/b.json', '{ "capabilities": {} }'),
      () => project.write('agents/a.json', '{ "capabilities": { "m": {} } }'),
      () => project.agents.edit('a', config => ({ ...config, title: 'A' })),
      () => rm(project.path('agents/b.json')),
    ]
    for (const step of steps) {
      const change = project.next('agents')
      await step()
      await change
    }
    expect((await project.agents.load()).map(entry => entry.name)).toEqual(['a'])
    expect(project.changes.some(change => change.config)).toBe(false)
  })

  it('notices a folder of agents that comes later', async () => {
    const project = await watched({})
    const change = project.next('agents')
    await project.write('agents/a.json', '{ "capabilities": {} }')
    await expect(change).resolves.toBeUndefined()
  })

  it('notices that the configuration file is made and edited', async () => {
    const project = await watched({})
    for (const text of ['{}', '{ "settings": {} }']) {
      const change = project.next('config')
      await project.write('quartermaster.config.json', text)
      await change
    }
    expect(project.changes.some(change => change.agents)).toBe(false)
  })

  it('watches the configuration file that was asked for by another name', async () => {
    const project = await watched({ 'my.json': '{}' }, { configFile: 'my.json' })
    const change = project.next('config')
    await project.write('my.json', '{ "settings": {} }')
    await expect(change).resolves.toBeUndefined()
  })

  it('takes no notice of anything else', async () => {
    const project = await watched({ 'agents/a.json': { capabilities: {} } })
    await project.write('capabilities/x.ts', '')
    await project.write('other.json', '')
    await project.write('agents/notes.md', '')
    await project.write('agents/.swap.json', '')
    const change = project.next('config')
    await project.write('quartermaster.config.json', '{}')
    await change
    expect(project.changes).toEqual([{ agents: false, config: true }])
  })

  it('goes on when a listener fails, and reports it', async () => {
    const project = await tempProject({ 'agents/a.json': { capabilities: {} } })
    const { lines, log } = recordingLog()
    const agents = createAgentFiles({ projectDir: project.dir, env: {}, secrets: noSecrets, watch: true, log })
    onTestFinished(() => agents.close())
    agents.onChange(() => {
      throw new Error('no')
    })
    await new Promise<void>(resolve => void agents.onChange(() => resolve()))
    expect(lines).toEqual(['A listener to changed project files failed.'])
  })

  it('tells nobody who stopped listening', async () => {
    const project = await watched({ 'agents/a.json': { capabilities: {} } })
    const heard: ProjectChange[] = []
    const stop = project.agents.onChange(change => void heard.push(change))
    stop()
    const change = project.next('agents')
    await project.write('agents/a.json', '{ "capabilities": { "m": {} } }')
    await change
    expect(heard).toEqual([])
  })

  it('closes cleanly, also while it is still starting and more than once', async () => {
    const project = await tempProject({})
    const { lines, log } = recordingLog()
    const agents = createAgentFiles({ projectDir: project.dir, env: {}, secrets: noSecrets, watch: true, log })
    agents.onChange(() => expect.unreachable('it is closed'))
    const ready = agents.watching()
    await Promise.all([agents.close(), agents.close()])
    await ready
    await rename(project.dir, `${project.dir}-moved`)
    onTestFinished(() => rm(`${project.dir}-moved`, { recursive: true }))
    expect(lines).toEqual([])
  })

  it('does not watch unless it is told to', async () => {
    const project = await tempProject({})
    const { lines, log } = recordingLog()
    const agents = createAgentFiles({ projectDir: project.dir, env: {}, secrets: noSecrets, watch: false, log })
    agents.onChange(() => undefined)
    await agents.watching()
    await agents.close()
    expect(lines).toEqual([])
  })
})
