import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { AgentConfig, McpServerConfig, ResolverContext } from '../../contracts/index.ts'
import { createHub, DOWN, fakeService, type Hub, simpleCapability, simpleTool, UP } from '../../testing/hub.ts'
import { defineCapability, defineInjection, defineTool, toolFailure } from '../catalogue/index.ts'

const contextFor = (agent: AgentConfig, more: Partial<ResolverContext> = {}): ResolverContext => ({
  agentDir: '/project/agents',
  workspaceDir: '/project',
  agent: { ...agent, name: 'worker' },
  ...more,
})

const audio = simpleCapability('audio', [simpleTool('transcribe'), simpleTool('speak')])
const files = defineCapability({
  key: 'files',
  short: 'Files.',
  config: z.strictObject({ dirs: z.array(z.string()).min(1) }),
  tools: [
    defineTool({
      name: 'where',
      short: 'x',
      input: { type: 'object' },
      mutates: false,
      handler: (_input, { config }) => JSON.stringify(config),
    }),
  ],
  resolve: ({ workspaceDir }, { dirs, tools }) => ({
    config: { dirs: dirs.map(dir => `${workspaceDir}/${dir}`), tools },
  }),
})

const hubWith = (...capabilities: (typeof audio)[]) => createHub({ units: { 'main.ts': { capabilities } } })

/** A real MCP client connected to a resolved in-process server. */
async function connect(server: McpServerConfig | undefined, options: ConstructorParameters<typeof Client>[1] = {}) {
  if (server?.type !== 'sdk') throw new Error('not an in-process server')
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  const client = new Client({ name: 'test', version: '1' }, options)
  await Promise.all([
    (server.instance as { connect(transport: unknown): Promise<void> }).connect(theirs),
    client.connect(ours),
  ])
  return client
}

describe('resolve', () => {
  it('gives in-process servers that hold only the granted tools', async () => {
    const hub = await hubWith(audio, files)
    const capabilities = { audio: { tools: ['transcribe'] }, files: { dirs: ['reports'] } }
    const { mcpServers, report } = hub.registry.resolve(capabilities, contextFor({ capabilities }))
    expect(Object.keys(mcpServers)).toEqual(['audio', 'files'])
    expect(report).toEqual([
      { capability: 'audio', tool: 'transcribe', state: 'granted' },
      { capability: 'files', tool: 'where', state: 'granted' },
    ])
    const client = await connect(mcpServers.audio)
    expect((await client.listTools()).tools.map(tool => tool.name)).toEqual(['transcribe'])
    await expect(client.callTool({ name: 'speak', arguments: {} })).rejects.toThrow('has no tool "speak"')
    expect((await client.callTool({ name: 'transcribe', arguments: {} })).content).toEqual([
      { type: 'text', text: 'transcribe' },
    ])
  })

  it('gives the handler what its resolver prepared, and the resolver its resolved tools', async () => {
    const hub = await hubWith(files)
    const capabilities = { files: { dirs: ['a', 'b'] } }
    const { mcpServers } = hub.registry.resolve(capabilities, contextFor({ capabilities }))
    const client = await connect(mcpServers.files)
    const result = await client.callTool({ name: 'where', arguments: {} })
    expect(result.content).toEqual([{ type: 'text', text: '{"dirs":["/project/a","/project/b"],"tools":["where"]}' }])
  })

  it.each([
    [
      'an unknown capability',
      { audoi: {} },
      'CAPABILITY_UNKNOWN',
      'There is no capability "audoi". Did you mean "audio"?',
    ],
    [
      'an unknown tool',
      { audio: { tools: ['transcrib'] } },
      'CONFIG_INVALID',
      'has no tool "transcrib". Did you mean "transcribe"?',
    ],
    ['a tool listed twice', { audio: { tools: ['speak', 'speak'] } }, 'CONFIG_INVALID', '"speak" is listed twice'],
    ['a wildcard', { audio: { tools: ['*'] } }, 'CONFIG_INVALID', 'has no tool "*"'],
    ['configuration a capability does not take', { audio: { volume: 11 } }, 'CONFIG_INVALID', 'takes no configuration'],
    ['wrong configuration', { files: { dirs: [] } }, 'CONFIG_INVALID', 'capabilities.files.dirs'],
  ])('refuses %s', async (_what, capabilities, code, text) => {
    const hub = await hubWith(audio, files)
    const resolve = () => hub.registry.resolve(capabilities, contextFor({ capabilities }))
    expect(resolve).toThrow(expect.objectContaining({ code, message: expect.stringContaining(text) }))
  })

  it('grants all tools without an allowlist and none with an empty one', async () => {
    const hub = await hubWith(audio)
    const tools = (capabilities: Record<string, { tools?: string[] }>) =>
      hub.registry.resolve(capabilities, contextFor({ capabilities })).report.map(entry => entry.tool)
    expect(tools({ audio: {} })).toEqual(['transcribe', 'speak'])
    expect(tools({ audio: { tools: [] } })).toEqual([])
  })

  it('reports what is skipped and what is unavailable, with the reason', async () => {
    const mail = fakeService('mail', DOWN)
    const skipping = defineCapability({
      key: 'voice',
      short: 'x',
      tools: [simpleTool('talk')],
      resolve: context => (context.thread ? {} : null),
    })
    const hub = await createHub({
      units: {
        'm.ts': {
          capabilities: [skipping, simpleCapability('mail', [simpleTool('send', { requires: ['mail'] })])],
          dependencies: [mail.dependency],
        },
      },
    })
    await hub.health.probeNew()
    const capabilities = { voice: {}, mail: {} }
    const { report, mcpServers } = hub.registry.resolve(capabilities, contextFor({ capabilities }))
    expect(report).toEqual([
      { capability: 'mail', tool: 'send', state: 'unavailable', reason: 'mail is down: connection refused' },
      { capability: 'voice', tool: 'talk', state: 'skipped', reason: expect.any(String) },
    ])
    expect(Object.keys(mcpServers)).toEqual(['mail'])
  })

  it('never hands out a foreign server', async () => {
    const hub = await createHub()
    hub.registry.register({
      key: 'foreign',
      tools: [{ name: 'dig', title: 'Dig', short: 'Digs.' }],
      resolve: () => ({ mcpServer: { type: 'stdio', command: 'npx' } }),
    })
    const { mcpServers, report } = hub.registry.resolve({ foreign: {} }, contextFor({ capabilities: {} }))
    expect(mcpServers).toEqual({})
    expect(report).toMatchObject([{ tool: 'dig', state: 'unavailable' }])
  })

  it('calls a tool with a wrong definition unavailable, not unknown', async () => {
    const hub = await hubWith(simpleCapability('mixed', [simpleTool('fine'), simpleTool('wrong', { timeoutMs: -1 })]))
    const capabilities = { mixed: { tools: ['fine', 'wrong'] } }
    expect(hub.registry.resolve(capabilities, contextFor({ capabilities })).report).toMatchObject([
      { tool: 'fine', state: 'granted' },
      { tool: 'wrong', state: 'unavailable' },
    ])
  })
})

describe('what host programs hand in', () => {
  const context = contextFor({ capabilities: {} })

  it.each([
    ['no capabilities', null],
    ['a capability without configuration', { audio: null }],
    ['tools that are no list', { audio: { tools: 'speak' } }],
    ['tools that are no names', { audio: { tools: [1] } }],
  ])('is refused with a typed error: %s', async (_what, capabilities) => {
    const hub = await hubWith(audio)
    expect(() => hub.registry.resolve(capabilities as never, context)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    )
  })

  it.each([null, {}, { key: 'x', tools: [] }, { key: 'x', tools: [simpleTool('t')], resolve: () => ({}) }])(
    'is refused when it is no capability: %j',
    async thing => {
      const hub = await createHub()
      expect(() => hub.registry.register(thing as never)).toThrow(
        expect.objectContaining({ code: 'DEFINITION_INVALID' }),
      )
    },
  )

  it('is refused for a kind of run there is not', async () => {
    const hub = await createHub()
    expect(() => hub.registry.resolveInjections('nightly' as never, context)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    )
  })

  it('cannot keep resolving waiting', async () => {
    const late = defineCapability({
      key: 'late',
      short: 'x',
      tools: [simpleTool('t')],
      resolve: (async () => Promise.reject(new Error('no'))) as never,
    })
    const hub = await hubWith(late)
    expect(() => hub.registry.resolve({ late: {} }, context)).toThrow('must answer at once')
  })

  it('is told that a resolver brought nothing to call', async () => {
    const hub = await createHub()
    hub.registry.register({ key: 'empty', tools: [{ name: 'dig', title: 'Dig', short: 'Digs.' }], resolve: () => ({}) })
    expect(hub.registry.resolve({ empty: {} }, context).report).toMatchObject([{ tool: 'dig', state: 'unavailable' }])
  })

  it.each([async () => null, async () => Promise.reject(new Error('no')), () => 5])(
    'loses an injection whose resolver answers oddly: %s',
    async resolve => {
      const injection = defineInjection({
        key: 'odd',
        short: 'x',
        modes: ['background'],
        tools: [simpleTool('t')],
        resolve: resolve as never,
      })
      const hub = await createHub({ units: { 'm.ts': { injections: [injection] } } })
      expect(hub.registry.resolveInjections('background', context)).toEqual({})
    },
  )

  it('loses an injection whose own code fails, and nothing else', async () => {
    const injection = defineInjection({
      key: 'bad',
      short: 'x',
      modes: ['background'],
      tools: [simpleTool('t')],
      resolve() {
        throw new Error('no')
      },
    })
    const hub = await createHub({ units: { 'm.ts': { injections: [injection] } } })
    expect(hub.registry.resolveInjections('background', context)).toEqual({})
  })
})

describe('discovery', () => {
  it('needs nothing running and shows tools, texts and configuration schema', async () => {
    const hub = await hubWith(audio, files)
    expect(hub.registry.knownCapabilities()).toMatchObject([
      {
        key: 'audio',
        title: 'Audio',
        tools: [{ name: 'transcribe', title: 'Transcribe', short: 'Answers transcribe.' }, { name: 'speak' }],
      },
      { key: 'files', configSchema: { type: 'object', properties: { dirs: { type: 'array' } } } },
    ])
  })
})

describe('in-process servers', () => {
  async function serve(
    hub: Hub,
    key: string,
    more: Partial<ResolverContext> = {},
    options?: ConstructorParameters<typeof Client>[1],
  ) {
    const capabilities = { [key]: {} }
    return connect(hub.registry.resolve(capabilities, contextFor({ capabilities }, more)).mcpServers[key], options)
  }

  it('say in their listing what is safe', async () => {
    const hub = await hubWith(simpleCapability('main', [simpleTool('look'), simpleTool('change', { mutates: true })]))
    const { tools } = await (await serve(hub, 'main')).listTools()
    expect(tools.map(tool => tool.annotations)).toMatchObject([
      { readOnlyHint: true, idempotentHint: true },
      { readOnlyHint: false, idempotentHint: false, destructiveHint: true },
    ])
  })

  it('keep a tool’s own no apart from errors, which carry their code', async () => {
    const tools = [
      simpleTool('no', { handler: () => toolFailure('Not today.') }),
      simpleTool('typed', { input: { type: 'object', required: ['a'] } }),
    ]
    const client = await serve(await hubWith(simpleCapability('main', tools)), 'main')
    expect(await client.callTool({ name: 'no', arguments: {} })).toMatchObject({
      isError: true,
      content: [{ text: 'Not today.' }],
    })
    expect(await client.callTool({ name: 'typed', arguments: {} })).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'INPUT_INVALID' } },
      _meta: { 'quartermaster/error': { code: 'INPUT_INVALID', retry: 'never' } },
    })
  })

  it('tell their live clients when the view changes, the first time at once, then once a second', async () => {
    const mail = fakeService('mail', UP)
    const hub = await createHub({
      units: {
        'm.ts': {
          capabilities: [simpleCapability('mail', [simpleTool('send', { requires: ['mail'] })]), audio],
          dependencies: [mail.dependency],
        },
      },
      settings: { recoveringSeconds: 0 },
    })
    await hub.health.probeNew()
    let news = 0
    let others = 0
    const listen = (count: () => void) => ({
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: count } },
    })
    const client = await serve(
      hub,
      'mail',
      {},
      listen(() => news++),
    )
    await serve(
      hub,
      'audio',
      {},
      listen(() => others++),
    )
    hub.health.reportFailure('mail', 'gone')
    mail.verdict = DOWN
    await hub.clock.advance(10)
    expect((await client.listTools()).tools).toEqual([])
    await expect.poll(() => news).toBe(1)
    mail.verdict = UP
    await hub.health.recheck('dependency:mail', { force: true })
    await hub.clock.advance(500)
    expect(news).toBe(1)
    await hub.clock.advance(600)
    await expect.poll(() => news).toBe(2)
    expect(others).toBe(0)
  })

  it('serve the rest of a result that was cut', async () => {
    const hub = await hubWith(
      simpleCapability('main', [simpleTool('long', { maxResultBytes: 1024, handler: () => 'x'.repeat(1500) })]),
    )
    const client = await serve(hub, 'main')
    const result = await client.callTool({ name: 'long', arguments: {} })
    const link = (result.content as { type: string; uri?: string }[]).find(block => block.type === 'resource_link')
    const rest = await client.readResource({ uri: link?.uri ?? '' })
    expect(rest.contents).toMatchObject([{ text: 'x'.repeat(476) }])
  })

  it('ask through the host’s callbacks, or through the client', async () => {
    const asks = defineTool({
      name: 'asks',
      short: 'x',
      input: { type: 'object' },
      mutates: false,
      handler: async (_input, context) => (await context.ask({ message: 'Sure?' })).action,
    })
    const hub = await hubWith(simpleCapability('main', [asks]))
    const hosted = await serve(hub, 'main', { callbacks: { ask: async () => ({ action: 'decline' }) } })
    expect((await hosted.callTool({ name: 'asks', arguments: {} })).content).toEqual([
      { type: 'text', text: 'decline' },
    ])
    const eliciting = await serve(hub, 'main', {}, { capabilities: { elicitation: { form: {} } } })
    eliciting.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: {} }))
    expect((await eliciting.callTool({ name: 'asks', arguments: {} })).content).toEqual([
      { type: 'text', text: 'accept' },
    ])
    const mute = await serve(hub, 'main')
    expect(await mute.callTool({ name: 'asks', arguments: {} })).toMatchObject({
      structuredContent: { error: { code: 'ANSWER_UNAVAILABLE' } },
    })
  })
})

describe('injections', () => {
  it('come from the kind of run, never from configuration', async () => {
    const injection = defineInjection({
      key: 'reply',
      short: 'Answers whoever delegated.',
      modes: ['delegated'],
      tools: [
        defineTool({
          name: 'answer',
          short: 'x',
          input: { type: 'object' },
          mutates: false,
          handler: (_input, { config }) => String(config),
        }),
      ],
      resolve: ({ thread }) => (thread ? { config: thread.id } : null),
    })
    const hub = await createHub({ units: { 'm.ts': { injections: [injection] } } })
    const context = contextFor({ capabilities: {} }, { thread: { id: 't1' } })
    expect(hub.registry.resolveInjections('interactive', context)).toEqual({})
    expect(hub.registry.resolveInjections('delegated', contextFor({ capabilities: {} }))).toEqual({})
    const client = await connect(hub.registry.resolveInjections('delegated', context).reply)
    expect((await client.callTool({ name: 'answer', arguments: {} })).content).toEqual([{ type: 'text', text: 't1' }])
    expect(() => hub.registry.resolve({ reply: {} }, context)).toThrow(
      expect.objectContaining({ code: 'CAPABILITY_UNKNOWN' }),
    )
  })
})

describe('agents', () => {
  it('with a bad file have no tools, and others run', async () => {
    const hub = await createHub({
      units: { 'm.ts': { capabilities: [audio] } },
      agents: { good: { capabilities: { audio: {} } }, bad: { capabilities: { audio: { tools: ['nope'] } } } },
    })
    expect(hub.toolNamesFor('good')).toEqual(['transcribe', 'speak'])
    expect(hub.toolNamesFor('bad')).toEqual([])
    expect(hub.agents.problems('bad')).toMatchObject([
      { where: 'agents/bad.json', field: 'capabilities.audio.tools.0' },
    ])
    expect(hub.agents.problems('good')).toEqual([])
  })

  it('are told what a person will be asked for, and of consent that allows nothing', async () => {
    const consentOperations = [{ name: 'mail.send', reason: 'Sends.', weight: 'low' as const }]
    const capability = simpleCapability('mail', [simpleTool('send', { consent: ['mail.send'] })], { consentOperations })
    const hub = await createHub({
      units: { 'm.ts': { capabilities: [capability] } },
      agents: { worker: { capabilities: { mail: {} }, consent: { allow: ['mail.sned'] } } },
    })
    expect(hub.agents.session('worker').view().report()).toMatchObject([
      { state: 'granted', reason: 'A person is asked first: mail.send.' },
    ])
    expect(hub.agents.problems('worker')).toMatchObject([
      { severity: 'warning', message: expect.stringContaining('Did you mean "mail.send"?') },
    ])
  })

  it('that do not exist are told apart with a suggestion', async () => {
    const hub = await createHub({ agents: { researcher: { capabilities: {} } } })
    expect(() => hub.agents.session('reseacher')).toThrow(
      expect.objectContaining({ code: 'AGENT_NOT_FOUND', message: expect.stringContaining('researcher') }),
    )
  })
})
