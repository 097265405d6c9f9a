import { readFile, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { deferred } from '../src/testing/deferred.ts'
import { sharedFixture } from '../src/testing/shared-fixture.ts'
import { freshFolder } from '../src/testing/store-contract/stage.ts'
import { definition, listing } from './support/listing-fixture.ts'
import { openDiffering, openForTwo } from './support/two-agents.ts'
import { ILL_SERVER, openFixture, program, SDK_SERVER, startHttpServer, textOf } from './support/upstream-fixture.ts'

const FRONTS = ['auto', 'legacy'] as const
const SERVERS = (['modern', 'legacy'] as const).flatMap(behind =>
  (['stdio', 'http'] as const).map(transport => ({ behind, transport })),
)

async function serverOver(transport: 'stdio' | 'http', ...args: string[]) {
  return transport === 'stdio' ? program(SDK_SERVER, ...args) : { url: (await startHttpServer(...args)).url }
}

/** What is cancelled in front is cancelled behind. */
async function cancels(client: Client, log: string): Promise<void> {
  const controller = new AbortController()
  const waiting = client.callTool({ name: 'desk_wait', arguments: {} }, { signal: controller.signal })
  const lines = () => readFile(log, 'utf8').catch(() => '')
  await expect.poll(lines).toContain('wait')
  controller.abort('enough')
  await expect(waiting).rejects.toThrow()
  await expect.poll(lines).toContain('cancelled')
}

/** All that a server can do reaches a client, and the other way round. */
async function passesEverything(client: Client): Promise<void> {
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }))
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///w' }] }))
  const { tools } = await client.listTools()
  expect(tools.find(tool => tool.name === 'desk_add')).toMatchObject({
    description: 'Adds two numbers.',
    annotations: { readOnlyHint: true },
    outputSchema: { required: ['sum'] },
  })
  expect(await client.callTool({ name: 'desk_add', arguments: { a: 1, b: 2 } })).toMatchObject({
    content: [{ type: 'text', text: '3' }],
    structuredContent: { sum: 3 },
    _meta: { 'desk/sum': 3 },
  })
  expect((await client.callTool({ name: 'desk_pictures', arguments: {} })).content).toEqual([
    { type: 'text', text: 'a text', annotations: { audience: ['user'] }, _meta: { 'desk/x': 1 } },
    { type: 'image', data: 'aGk=', mimeType: 'image/png' },
    { type: 'audio', data: 'aGk=', mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'desk://a', mimeType: 'text/plain', text: 'inside' } },
    { type: 'resource_link', uri: 'desk://a', name: 'a', mimeType: 'text/plain' },
  ])
  const steps: object[] = []
  await client.callTool({ name: 'desk_slow', arguments: {} }, { onprogress: step => steps.push(step) })
  expect(steps).toEqual([1, 2].map(progress => ({ progress, total: 2, message: `step ${progress}` })))
  expect(await textOf(client, 'desk_ask')).toContain('Ada')
  expect(await textOf(client, 'desk_folders')).toContain('file:///w')
  expect(await client.callTool({ name: 'desk_no', arguments: {} })).toMatchObject({ isError: true })
  expect(await client.getPrompt({ name: 'desk_greet', arguments: { who: 'Ada' } })).toMatchObject({
    messages: [{ content: { text: 'Greet Ada.' } }],
  })
  const ref = { type: 'ref/prompt' as const, name: 'desk_greet' }
  expect((await client.complete({ ref, argument: { name: 'who', value: 'A' } })).completion.values).toEqual([
    'Ada',
    'Alan',
  ])
  expect((await client.listResources()).resources).toContainEqual(expect.objectContaining({ uri: 'desk://a' }))
  expect(await client.readResource({ uri: 'desk://files/a/b' })).toMatchObject({
    contents: [{ uri: 'desk://files/a/b', text: 'read desk://files/a/b', _meta: { 'desk/read': true } }],
  })
}

describe.each(SERVERS)('a server of the era $behind over $transport', ({ behind, transport }) => {
  it('passes tools, results, progress, questions, cancellation, prompts, resources and suggestions to clients of both eras', async () => {
    const log = join(await freshFolder(), 'log')
    const server = await serverOver(transport, `--log=${log}`)
    const fixture = await openFixture({ mcpServers: { desk: { ...server, era: behind } } })
    await expect.poll(async () => (await fixture.status('desk'))?.state).toBe('up')
    const clients: Client[] = []
    for (const front of FRONTS) {
      const client = await fixture.connect(front, { capabilities: { elicitation: { form: {} }, roots: {} } })
      clients.push(client)
      await passesEverything(client)
    }
    // Afterwards: of an older server it is unknown for a while whether it has stopped, and for whom it asks.
    for (const client of clients) {
      await writeFile(log, '')
      await cancels(client, log)
    }
  })
})

/** Servers with entries of all kinds behind one `up`. */
async function openEntries() {
  const annotations = { readOnlyHint: true, destructiveHint: true }
  const { entry: drop } = await listing([definition('drop', { annotations })])
  const fixture = await openFixture({
    mcpServers: {
      desk: program(SDK_SERVER),
      calm: { ...program(SDK_SERVER), tools: { erase: { consent: [] } } },
      drop,
      vouched: { ...drop, tools: { drop: { mutates: false } } },
      trusted: { ...drop, tools: { drop: { consent: [] } } },
      ill: { ...program(ILL_SERVER), era: 'legacy' },
      there: { ...program(ILL_SERVER), cwd: 'notes' },
      inside: { ...program(ILL_SERVER), cwd: '.quartermaster' },
      chosen: {
        ...program(SDK_SERVER),
        offer: ['echo', 'add', 'count'],
        leaveOut: ['count'],
        prefix: false,
        tools: { echo: { name: 'parrot', short: 'Repeats what it hears.' } },
      },
    },
    files: { 'notes/today.md': '' },
    settings: { consentWaitSeconds: 0, gatewayViewOver: 500 },
  })
  await fixture.untilUp('desk', 'calm', 'drop', 'vouched', 'trusted', 'ill', 'there', 'chosen')
  return fixture
}

describe('the entry of an upstream', () => {
  const fixture = sharedFixture(openEntries)
  const connect = (front: (typeof FRONTS)[number] = 'auto') => fixture().connect(front)

  it('alone can say that a tool needs no consent which its server calls destructive', async () => {
    const client = await connect()
    expect(await textOf(client, 'calm_erase')).toBe('erased')
    expect(await textOf(client, 'desk_erase')).toContain('Waiting for approval')
  })

  it('decides about a tool that its server calls both read-only and destructive', async () => {
    const client = await connect()
    expect(await textOf(client, 'trusted_drop', { path: 'a' })).toBe('{"path":"a"}')
    for (const name of ['drop_drop', 'vouched_drop'])
      expect(await textOf(client, name)).toContain('Waiting for approval')
  })

  it.each(FRONTS)(
    'leaves results to the schema of the server: a wrong one is an error (client of era %s)',
    async era => {
      const client = await connect(era)
      const add = (args: object) => client.callTool({ name: 'ill_add', arguments: { ...args } })
      expect(await add({ a: 1, b: 2 })).toMatchObject({ structuredContent: { sum: 3 } })
      // The sum of nothing is no number.
      expect(await add({})).toMatchObject({
        isError: true,
        content: [
          { text: expect.stringContaining('its result is not what its definition promises. sum must be a number') },
          { text: '{"sum":null}' },
        ],
        _meta: { 'quartermaster/error': { code: 'OUTPUT_INVALID' } },
      })
    },
  )

  it('filters, renames and describes tools', async () => {
    const client = await connect()
    const { tools } = await client.listTools()
    const unprefixed = tools.filter(({ name }) => ['add', 'count', 'echo', 'parrot'].includes(name))
    expect(unprefixed).toMatchObject([{ name: 'add' }, { name: 'parrot', description: 'Repeats what it hears.' }])
    expect(await textOf(client, 'parrot', { text: 'hi' })).toBe('hi')
  })

  it('names the folder of the program: otherwise the project folder, never the data folder', async () => {
    const client = await connect()
    const dir = await realpath(fixture().dir)
    expect(await textOf(client, 'ill_where')).toBe(dir)
    expect(await textOf(client, 'there_where')).toBe(join(dir, 'notes'))
    const message = expect.stringContaining('belongs to the data folder, which no server may reach.')
    expect(await fixture().status('inside')).toMatchObject({ pids: [], lastError: { message } })
  })
})

describe('an upstream', () => {
  it('is described as the configuration says, and with care where it says nothing', async () => {
    const said = {
      title: 'Parrot',
      mutates: true,
      examples: [{ query: 'Greet me.', input: { text: 'Good morning' } }],
    }
    const fixture = await openFixture({
      mcpServers: { desk: { ...program(SDK_SERVER), tools: { echo: said } } },
      agents: { default: { capabilities: { desk: {} }, view: 'gateway' } },
    })
    await expect.poll(async () => (await fixture.status('desk'))?.state).toBe('up')
    expect((await fixture.run('tools', 'desk_echo', '--json')).json()).toMatchObject(said)
    const careful = { mutates: true, retry: 'manual', idempotent: false }
    expect((await fixture.run('tools', 'desk_count', '--json')).json()).toMatchObject(careful)
    const described = await textOf(await fixture.connect(), 'describe_tool', { name: 'desk_echo' })
    expect(JSON.parse(described)).toMatchObject({ tools: [said] })
  })

  it('gives every agent its own connection and credentials where its entry says so', async () => {
    const agents = { ada: { env: { WHO: 'ada' } } }
    const { ada, bob } = await openForTwo({ desk: { ...program(SDK_SERVER), env: { WHO: 'nobody' }, agents } })
    await expect.poll(() => textOf(bob, 'desk_variable', { name: 'WHO' })).toBe('nobody')
    expect(await textOf(ada, 'desk_variable', { name: 'WHO' })).toBe('ada')
    const pids = await Promise.all([ada, bob].map(async one => JSON.parse(await textOf(one, 'desk_environment')).pid))
    expect(new Set(pids).size).toBe(2)
  })

  it('that is switched off is neither listed nor started, whatever is known of it', async () => {
    const fixture = await openFixture({ mcpServers: { desk: program(SDK_SERVER) } })
    const client = await fixture.connect('auto', { listChanged: { tools: { onChanged() {} } } })
    const names = async () => (await client.listTools()).tools.map(tool => tool.name)
    await expect.poll(names).toContain('desk_echo')
    const off = { mcpServers: { desk: { ...program(SDK_SERVER), enabled: false } } }
    await writeFile(join(fixture.dir, 'quartermaster.config.json'), JSON.stringify(off))
    await fixture.run('reload')
    await expect.poll(names).toEqual([])
    expect(await textOf(client, 'desk_echo', { text: 'hi' })).toContain('switched off')
    // Its process is told to end, and takes the time it needs.
    await expect.poll(() => fixture.status('desk')).toMatchObject({ state: 'off', pids: [] })
  })

  it('that requires credentials is listed with those of an agent, and used by that agent alone', async () => {
    const { url } = await startHttpServer('--token=of-ada')
    const agents = { ada: { headers: { authorization: 'Bearer of-ada' } } }
    const { ada, bob } = await openForTwo({ far: { url, agents } })
    await expect.poll(() => textOf(ada, 'far_echo', { text: 'hi' })).toBe('hi')
    expect(await textOf(bob, 'far_echo', { text: 'hi' })).toContain('DEPENDENCY_UNAVAILABLE')
  })

  it('that shows one agent another definition than was looked at is not used by that agent', async () => {
    const { ada } = await openDiffering()
    expect(await textOf(ada, 'desk_echo', { text: 'hi' })).toContain('TOOL_DISABLED')
    expect(await textOf(ada, 'desk_count')).toBe('1')
  })

  it('that is replaced finishes what it was called for', async () => {
    const entry = (...flags: string[]) => ({ mcpServers: { ill: { ...program(ILL_SERVER, ...flags), era: 'legacy' } } })
    const fixture = await openFixture(entry())
    const client = await fixture.connect('legacy', { capabilities: { elicitation: { form: {} } } })
    await expect.poll(() => textOf(client, 'ill_echo', { text: 'hi' })).toBe('hi')
    const [isAsked, isReplaced] = [deferred(), deferred()]
    client.setRequestHandler('elicitation/create', async () => {
      isAsked.resolve()
      await isReplaced.promise
      return { action: 'accept', content: { name: 'Ada' } }
    })
    // It may change something, so it would not be sent to the next one.
    const asking = textOf(client, 'ill_ask')
    await isAsked.promise
    await writeFile(join(fixture.dir, 'quartermaster.config.json'), JSON.stringify(entry('--banner')))
    await fixture.control('reload')
    await expect.poll(() => textOf(client, 'ill_echo', { text: 'new' })).toBe('new')
    isReplaced.resolve()
    expect(await asking).toContain('"Ada"')
  })

  it('that a reload adds, remounts or removes is named by it', async () => {
    const settings = { watchFiles: false }
    const [ill, banner] = [program(ILL_SERVER), program(ILL_SERVER, '--banner')]
    const fixture = await openFixture({ mcpServers: { stays: ill, turns: ill, goes: ill }, settings })
    for (const name of ['stays', 'turns', 'goes'])
      await expect.poll(async () => (await fixture.status(name))?.state).toBe('up')
    const reload = async (mcpServers: object, ...options: string[]) => {
      await writeFile(join(fixture.dir, 'quartermaster.config.json'), JSON.stringify({ mcpServers, settings }))
      return fixture.run('reload', ...options)
    }
    const next = { stays: { ...ill, title: 'Stays' }, turns: banner, comes: ill }
    expect((await reload(next, '--json')).json()).toMatchObject({
      added: expect.arrayContaining(['upstream:comes']),
      changed: expect.arrayContaining(['upstream:turns']),
      removed: expect.arrayContaining(['upstream:goes']),
    })
    const { stdout } = await reload({ ...next, stays: banner })
    expect(stdout).toMatch(/^Changed +upstream:stays\b/m)
    expect(stdout).not.toMatch(/upstream:(?!stays)/)
  })

  it('never gets our token, nor anything of our environment that is not its business', async () => {
    const log = join(await freshFolder(), 'log')
    const { url } = await startHttpServer(`--log=${log}`)
    vi.stubEnv('QUARTERMASTER_RECHECK_COOLDOWN_SECONDS', '30')
    onTestFinished(() => void vi.unstubAllEnvs())
    const fixture = await openFixture({ mcpServers: { far: { url }, near: program(SDK_SERVER) } })
    const client = await fixture.connect()
    await expect.poll(() => textOf(client, 'far_echo', { text: 'hi' })).toBe('hi')
    expect(new Set((await readFile(log, 'utf8')).split('\n').filter(line => line.startsWith('auth')))).toEqual(
      new Set(['authorization: none']),
    )
    await expect.poll(() => textOf(client, 'near_echo', { text: 'hi' })).toBe('hi')
    const { names } = JSON.parse(await textOf(client, 'near_environment'))
    expect(names.filter((name: string) => name.startsWith('QUARTERMASTER'))).toEqual(['QUARTERMASTER_UPSTREAM'])
    expect(names).not.toContain('VITEST')
  })

  it('that is taken into use later, or taken away, shows in live sessions', async () => {
    const fixture = await openFixture({ mcpServers: { desk: program(SDK_SERVER) } })
    // One that hears of changes; others may use what they listed for a while.
    const client = await fixture.connect('auto', { listChanged: { tools: { onChanged() {} } } })
    const names = async () => (await client.listTools()).tools.map(tool => tool.name)
    await expect.poll(names).toContain('desk_echo')
    await fixture.run('add', 'more', '--', process.execPath, ILL_SERVER)
    await expect.poll(names).toContain('more_echo')
    await fixture.run('remove', 'more')
    await expect.poll(names).not.toContain('more_echo')
    expect(await textOf(client, 'desk_echo', { text: 'still' })).toBe('still')
  })
})
