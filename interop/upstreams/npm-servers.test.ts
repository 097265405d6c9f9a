import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type RunningProduct, startWithAgents, startWithUpstreams } from '../support/running-product.ts'
import { npmServer } from './npm-servers.ts'
import { connectThrough, type ScriptedClient } from './scripted-client.ts'

interface UpstreamStatus {
  readonly name: string
  readonly state: string
  readonly pids: readonly number[]
  readonly tools: { readonly offered: number; readonly held: number }
}

const ALL_OF_OURS = {
  delegation: {},
  files: { dirs: ['.'] },
  history: {},
  inbox: {},
  memory: {},
  notes: { vault: '.' },
  registry: {},
  user: {},
}

describe('the reference servers from npm', () => {
  let folder: string
  let product: RunningProduct

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'npm-servers-'))
    product = await startWithUpstreams({
      everything: npmServer('everything'),
      // It says itself that writing destroys; whoever mounts it may allow that.
      filesystem: { ...npmServer('filesystem', folder), tools: { write_file: { consent: [] } } },
      graph: { ...npmServer('memory'), env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') } },
      thinking: npmServer('sequential-thinking'),
    })
    for (const name of ['everything', 'filesystem', 'graph', 'thinking']) await product.reaches(name)
  })
  afterAll(async () => {
    await product?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const upstreams = async () => (await product.run('upstreams', '--json')).json<UpstreamStatus[]>()
  const processOf = async (upstream: string) => {
    const pid = (await upstreams()).find(({ name }) => name === upstream)?.pids[0]
    if (pid === undefined) throw new Error(`${upstream} has no process.`)
    return pid
  }

  it('are offered whole: in none of them is anything found that a person has to look at', async () => {
    expect((await upstreams()).map(({ name, tools }) => ({ name, ...tools }))).toEqual([
      { name: 'everything', offered: 17, held: 0 },
      { name: 'filesystem', offered: 14, held: 0 },
      { name: 'graph', offered: 9, held: 0 },
      { name: 'thinking', offered: 1, held: 0 },
    ])
    expect((await product.run('upstreams', 'review', '--json')).json()).toEqual([])
  })

  it('are ordinary, as the product itself is behind another one: nothing is held back, and of at most 2 % is told', async () => {
    const own = await startWithAgents(['default'], ALL_OF_OURS)
    onTestFinished(own.stop)
    const { token } = await own.issue('default')
    await product.run('add', 'own', own.mcpUrl, '--header', `Authorization=Bearer ${token}`, '--no-grant')
    onTestFinished(async () => void (await product.run('remove', 'own')))
    await product.reaches('own')
    const tools = (await upstreams()).map(one => one.tools)
    const offered = tools.reduce((sum, one) => sum + one.offered, 0)
    expect(tools.map(({ held }) => held)).toEqual([0, 0, 0, 0, 0])
    expect(offered).toBeGreaterThanOrEqual(70)
    const told = (await product.run('upstreams', 'review', '--json')).json<unknown[]>()
    expect(told.length / offered).toBeLessThanOrEqual(0.02)
  })

  describe.each(['legacy', 'modern'] as const)('called by a %s client', era => {
    let one: ScriptedClient

    beforeAll(async () => {
      const { token } = await product.issue('default')
      one = await connectThrough({ mcpUrl: product.mcpUrl, token, era, prefix: '' })
    })
    afterAll(() => one?.close())

    const call = async (name: string, args: Record<string, unknown> = {}) => {
      const { isError, content, structuredContent } = await one.client.callTool({ name, arguments: args })
      return { isError: isError ?? false, text: JSON.stringify(content), structuredContent }
    }

    it('lists the tools of all of them', async () => {
      const names = (await one.client.listTools()).tools.map(({ name }) => name)
      expect(names).toEqual(
        expect.arrayContaining([
          'everything_echo',
          'filesystem_read_text_file',
          'graph_read_graph',
          'thinking_sequentialthinking',
          // Some of them ask for consent, so that calls may have to wait.
          'get_status',
        ]),
      )
      expect(names).toHaveLength(42)
    })

    it('everything says the same', async () => {
      expect((await call('everything_echo', { message: 'hi' })).text).toContain('Echo: hi')
    })

    it('filesystem reads and writes in its folder, and nowhere else', async () => {
      const path = join(folder, `${era}.txt`)
      await call('filesystem_write_file', { path, content: 'It was here.' })
      expect(await readFile(path, 'utf8')).toBe('It was here.')
      expect((await call('filesystem_read_text_file', { path })).text).toContain('It was here.')
      expect((await call('filesystem_list_directory', { path: folder })).text).toContain(`${era}.txt`)
      const config = join(product.folder, 'quartermaster.config.json')
      const outside = await call('filesystem_read_text_file', { path: config })
      expect(outside).toMatchObject({ isError: true, text: expect.stringContaining('Access denied') })
    })

    it('graph remembers, also when its process is killed', async () => {
      const entity = { name: `Ada ${era}`, entityType: 'person', observations: ['likes tea'] }
      await call('graph_create_entities', { entities: [entity] })
      const before = await processOf('graph')
      process.kill(before, 'SIGKILL')
      const { structuredContent } = await call('graph_open_nodes', { names: [entity.name] })
      expect(structuredContent).toEqual({ entities: [entity], relations: [] })
      expect(await processOf('graph')).not.toBe(before)
    })

    it('sequential-thinking counts thoughts', async () => {
      const thought = { thought: 'First things first.', thoughtNumber: 1, totalThoughts: 2, nextThoughtNeeded: true }
      const { structuredContent } = await call('thinking_sequentialthinking', thought)
      expect(structuredContent).toMatchObject({ thoughtNumber: 1, totalThoughts: 2, nextThoughtNeeded: true })
    })
  })
})
