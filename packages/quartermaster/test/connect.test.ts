import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { deferred } from '../src/testing/deferred.ts'
import { sharedFixture } from '../src/testing/shared-fixture.ts'
import { connectClient, ERAS, fixtureProject, running } from './support/bridge.ts'
import { BIN, makeProject, quartermaster, startUp, startUpProcess } from './support/product.ts'

const names = (tools: readonly { name: string }[] | null | undefined) => tools?.map(tool => tool.name)
const ALL = ['now', 'work', 'steps', 'ask', 'wait', 'pay', 'add', 'put', 'get_status']
const WITHOUT_NOW = ALL.slice(1)

/** A project whose `up` runs. */
async function runningProject(): Promise<string> {
  const dir = await fixtureProject({ 'agents/visitor.json': '{ "capabilities": { "desk": { "tools": ["work"] } } }' })
  await startUp(dir)
  return dir
}

describe.each(ERAS)('connect, with a real client of the era %s', mode => {
  const project = sharedFixture(runningProject)

  it('carries lists, calls, progress, questions and changes', async () => {
    const dir = project()
    const lists: (string[] | undefined)[] = []
    const { client } = await connectClient(dir, mode, {
      capabilities: { elicitation: {} },
      listChanged: { tools: { debounceMs: 0, onChanged: (_error, tools) => void lists.push(names(tools)) } },
    })
    client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { ok: true } }))
    expect(names((await client.listTools()).tools)).toEqual(ALL)
    // The tool takes the next step when the last one was seen.
    const onprogress = ({ progress }: { progress: number }) => writeFileSync(join(dir, `seen-${progress}.txt`), '')
    const stepped = await client.callTool({ name: 'steps' }, { onprogress })
    expect(stepped.content).toEqual([{ type: 'text', text: 'stepped' }])
    expect(JSON.stringify((await client.callTool({ name: 'ask' })).content)).toContain('accept')
    await rm(join(dir, 'feed.txt'))
    await expect.poll(() => lists.at(-1)).toEqual(WITHOUT_NOW)
    await writeFile(join(dir, 'feed.txt'), '')
  })

  it('answers others while a call waits, and ends a call that is cancelled', async () => {
    const dir = project()
    const { client } = await connectClient(dir, mode)
    const waits = client.callTool({ name: 'wait' })
    const abort = new AbortController()
    // One that only reads, and one that changes something.
    const cancelled = ['wait', 'pay'].map(name =>
      client.callTool({ name }, { signal: abort.signal }).catch(() => 'cancelled'),
    )
    expect((await client.callTool({ name: 'work' })).content).toEqual([{ type: 'text', text: 'worked' }])
    await expect.poll(() => running(dir)).toBe(3)
    abort.abort()
    expect(await Promise.all(cancelled)).toEqual(['cancelled', 'cancelled'])
    await expect.poll(() => running(dir)).toBe(1)
    await writeFile(join(dir, 'go.txt'), '')
    expect((await waits).content).toEqual([{ type: 'text', text: 'gone' }])
  })

  it('survives a restart of up: asks again what may be asked twice, and says that lists may have changed', async () => {
    const dir = await fixtureProject()
    const first = await startUpProcess(dir)
    const changed = deferred<string[] | undefined>()
    const { client, stderr } = await connectClient(dir, mode, {
      listChanged: { tools: { debounceMs: 0, onChanged: (_error, tools) => changed.resolve(names(tools)) } },
    })
    expect(names((await client.listTools()).tools)).toEqual(ALL)
    const pays = client.callTool({ name: 'pay' })
    const waits = client.callTool({ name: 'wait' })
    await client.callTool({ name: 'work' })
    await first.kill()
    await startUp(dir)
    // Whether it was done only its record could tell, and that is what it says.
    expect(await pays).toMatchObject({ isError: true, _meta: { 'quartermaster/error': { code: 'OUTCOME_UNKNOWN' } } })
    expect(await changed.promise).toEqual(ALL)
    await writeFile(join(dir, 'go.txt'), '')
    expect((await waits).content).toEqual([{ type: 'text', text: 'gone' }])
    expect(stderr()).toContain('quartermaster: Connected again.')
  })

  it('survives a polite stop of up as well, and lets it stop at once', async () => {
    const dir = await fixtureProject()
    const first = await startUp(dir)
    const { client } = await connectClient(dir, mode, { listChanged: { tools: { onChanged: () => {} } } })
    await client.listTools()
    expect(await first.stop()).toBe(0)
    const listed = client.listTools()
    await startUp(dir)
    expect(names((await listed).tools)).toEqual(ALL)
  })

  it('reports that its agent is gone, and works again when it is back', async () => {
    const dir = project()
    const { client } = await connectClient(dir, mode, { args: ['--agent', 'visitor'] })
    expect(names((await client.listTools()).tools)).toEqual(['work'])
    await rm(join(dir, 'agents', 'visitor.json'))
    await quartermaster(['reload'], { cwd: dir })
    await expect(client.listPrompts()).rejects.toThrow('There is no agent "visitor"')
    await writeFile(join(dir, 'agents', 'visitor.json'), '{ "capabilities": { "desk": { "tools": ["now"] } } }')
    await quartermaster(['reload'], { cwd: dir })
    expect((await client.callTool({ name: 'now' })).content).toEqual([{ type: 'text', text: 'tick' }])
  })

  it('tells a client of an agent that does not exist, by the failure it shows', async () => {
    const connected = connectClient(project(), mode, { args: ['--agent', 'missing'] })
    await expect(connected).rejects.toThrow('There is no agent "missing"')
  })
})

describe('connect', () => {
  const project = sharedFixture(runningProject)
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  }

  it('writes nothing but messages to standard output, and ends with 0 when there are no more', async () => {
    const dir = project()
    const { code, stdout, stderr } = await quartermaster(['connect'], {
      cwd: dir,
      input: `${JSON.stringify(initialize)}\nnonsense\n`,
    })
    const messages = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as { id: unknown })
    expect(messages.map(({ id }) => id).toSorted()).toEqual([1, null])
    expect([code, stderr]).toEqual([0, ''])
  })

  it('answers a call that was under way when standard input ended, and ends then', async () => {
    const dir = project()
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wait', arguments: {}, _meta } }
    const ended = quartermaster(['connect'], { cwd: dir, input: `${JSON.stringify(call)}\n` })
    await expect.poll(() => running(dir)).toBe(1)
    // Each of these takes a moment, in which the bridge goes on waiting.
    expect([await running(dir), await running(dir), await running(dir)]).toEqual([1, 1, 1])
    await writeFile(join(dir, 'go.txt'), '')
    const { code, stdout } = await ended
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, result: { content: [{ type: 'text', text: 'gone' }] } })
    expect(code).toBe(0)
  })

  it('ends with 4 when its agent does not exist, having answered why', async () => {
    const dir = project()
    const input = `${JSON.stringify(initialize)}\n`
    const { code, stdout, stderr } = await quartermaster(['connect', '--agent', 'missing'], { cwd: dir, input })
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, error: { data: { code: 'AGENT_NOT_FOUND' } } })
    expect([code, stderr]).toEqual([
      4,
      'quartermaster: There is no agent "missing". `quartermaster agents` lists them.\n',
    ])
  })

  it('serves a workspace of another organisation, with the tools of the platform', async () => {
    const dir = project()
    const within = ['--organisation', 'acme']
    await quartermaster(['organisations', 'create', 'acme'], { cwd: dir })
    // Not the agent of this name.
    await quartermaster(['workspaces', 'create', 'default', ...within], { cwd: dir })
    const { client } = await connectClient(dir, 'auto', { args: within })
    const tools = names((await client.listTools()).tools)
    expect(tools).toContain('recall_memory')
    expect(tools).not.toContain('pay')
    const { structuredContent } = await client.callTool({ name: 'get_workspace_info', arguments: {} })
    expect(structuredContent).toMatchObject({ name: 'default', tier: 1, parent: { name: 'root' } })
    const { client: missing } = await connectClient(dir, 'auto', { args: ['--agent', 'missing', ...within] }).catch(
      error => ({
        client: String(error),
      }),
    )
    expect(missing).toEqual(expect.stringMatching(/closed|No active workspace|AGENT_NOT_FOUND/))
  })

  it('does not make a project of a folder that is none', async () => {
    const dir = await makeProject()
    await rm(join(dir, 'quartermaster.config.json'))
    const { code, stdout } = await quartermaster(['connect'], { cwd: dir, input: `${JSON.stringify(initialize)}\n` })
    expect(JSON.parse(stdout)).toMatchObject({ error: { message: expect.stringContaining('There is no project in') } })
    expect(code).toBe(3)
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('ends with 0 by %s', async signal => {
    const dir = project()
    const child = spawn(process.execPath, [BIN, 'connect'], { cwd: dir, stdio: ['pipe', 'pipe', 'inherit'] })
    child.stdin.write(`${JSON.stringify(initialize)}\n`)
    await once(child.stdout, 'data')
    child.kill(signal)
    expect(await once(child, 'exit')).toEqual([0, null])
  })
})
