import { describe, expect, it } from 'vitest'
import { defineTool, toolFailure } from '../../core/catalogue/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createHub, DOWN, fakeService, simpleCapability, simpleTool, UP } from '../../testing/hub.ts'
import type { HttpFront } from './index.ts'
import { add } from './testing/add-tool.ts'
import { connect, ERAS, frontOf } from './testing/front.ts'

const asks = defineTool({
  name: 'asks',
  short: 'Asks.',
  input: { type: 'object' },
  mutates: false,
  async handler(_input, { ask, progress }) {
    progress({ progress: 1, total: 2 })
    const first = await ask({ message: 'Sure?' })
    progress({ progress: 2, total: 2 })
    const second = await ask({ message: 'Really?' })
    return `${first.action} and ${second.action}`
  },
})
const mail = fakeService('mail', UP)
const tools = [
  add,
  asks,
  simpleTool('no', { handler: () => toolFailure('No.') }),
  simpleTool('send', { requires: ['mail'] }),
]

async function open(more: Parameters<typeof createHub>[0] = {}, limits: Parameters<typeof frontOf>[1] = {}) {
  mail.verdict = UP
  const hub = await createHub({
    units: {
      'main.ts': {
        capabilities: [simpleCapability('main', tools), simpleCapability('other', [simpleTool('elsewhere')])],
        dependencies: [mail.dependency],
      },
    },
    agents: { worker: { capabilities: { main: {} } }, stranger: { capabilities: { other: {} } } },
    settings: { recoveringSeconds: 0 },
    ...more,
  })
  await hub.health.probeNew()
  return { hub, front: frontOf(hub, limits) }
}

describe.each(ERAS)('a client of the era %s', era => {
  it('sees exactly its agent’s tools, and calls them', async () => {
    const { front } = await open()
    const client = await connect(front, 'worker', era)
    expect(client.getProtocolEra()).toBe(era === 'auto' ? 'modern' : 'legacy')
    expect((await client.listTools()).tools.map(tool => tool.name)).toEqual(['add', 'asks', 'no', 'send'])
    const result = await client.callTool({ name: 'add', arguments: { a: 20, b: 22 } })
    expect(result.structuredContent).toEqual({ sum: 42 })
    expect(await client.callTool({ name: 'no', arguments: {} })).toMatchObject({ isError: true })
    const refused = await client.callTool({ name: 'add', arguments: {} })
    expect(refused).toMatchObject({ isError: true, _meta: { 'quartermaster/error': { code: 'INPUT_INVALID' } } })
    // Some clients hold structure against what the tool promises, and would show nothing at all.
    expect(refused.structuredContent).toBeUndefined()
    await expect(client.callTool({ name: 'elsewhere', arguments: {} })).rejects.toThrow('has no tool "elsewhere"')
    const others = await connect(front, 'stranger', era)
    expect((await others.listTools()).tools.map(tool => tool.name)).toEqual(['elsewhere'])
  })

  it('answers a tool’s questions, and receives its progress', async () => {
    const { front } = await open()
    const questions: string[] = []
    const client = await connect(front, 'worker', era, { capabilities: { elicitation: { form: {} } } })
    client.setRequestHandler('elicitation/create', request => {
      questions.push(request.params.message)
      return { action: questions.length === 1 ? 'accept' : 'decline', content: {} }
    })
    const heard: unknown[] = []
    const onprogress = (progress: unknown) => heard.push(progress)
    const result = await client.callTool({ name: 'asks', arguments: {} }, { onprogress })
    expect(result.content).toEqual([{ type: 'text', text: 'accept and decline' }])
    expect(questions).toEqual(['Sure?', 'Really?'])
    expect(heard).toContainEqual({ progress: 1, total: 2 })
    expect(heard).toContainEqual({ progress: 2, total: 2 })
  })

  it('is not asked when it cannot ask its person', async () => {
    const { front } = await open()
    const client = await connect(front, 'worker', era)
    const outcome = await client.callTool({ name: 'asks', arguments: {} }).catch(error => error)
    const told = {
      legacy: { structuredContent: { error: { code: 'ANSWER_UNAVAILABLE' } } },
      auto: { code: -32021, data: { requiredCapabilities: { elicitation: {} } } },
    }
    expect(outcome).toMatchObject(told[era])
  })

  it('reads the page of each of its tools', async () => {
    const { front } = await open()
    const client = await connect(front, 'worker', era)
    const { resources } = await client.listResources()
    expect(resources.map(resource => resource.uri)).toContain('quartermaster://tools/add')
    const { contents } = await client.readResource({ uri: 'quartermaster://tools/add' })
    expect(contents).toMatchObject([{ mimeType: 'text/markdown', text: expect.stringContaining('# Add (`add`)') }])
    await expect(client.readResource({ uri: 'quartermaster://tools/elsewhere' })).rejects.toThrow()
  })

  it('is notified when its view changes, and no other client is', async () => {
    const { hub, front } = await open()
    const news = { worker: 0, stranger: 0 }
    for (const agent of ['worker', 'stranger'] as const) {
      const onChanged = () => void news[agent]++
      const client = await connect(front, agent, era, {
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } },
      })
      await client.listTools()
    }
    await expect.poll(() => front.counts().streams).toBeGreaterThanOrEqual(2)
    mail.verdict = DOWN
    hub.health.reportFailure('mail', 'gone')
    await hub.clock.advance(10)
    await expect.poll(() => news.worker).toBe(1)
    mail.verdict = UP
    await hub.health.recheck('dependency:mail', { force: true })
    await hub.clock.advance(1_100)
    await expect.poll(() => news.worker).toBe(2)
    expect(news.stranger).toBe(0)
  })

  it('loses a running call with its token', async () => {
    const started = deferred<AbortSignal>()
    const { front } = await open({
      units: {
        'main.ts': {
          capabilities: [
            simpleCapability('main', [
              simpleTool('waits', {
                handler(_input: never, { signal }) {
                  started.resolve(signal)
                  return new Promise(() => {})
                },
              }),
            ]),
          ],
        },
      },
      agents: { worker: { capabilities: { main: {} } } },
    })
    const client = await connect(front, 'worker', era)
    const call = client.callTool({ name: 'waits', arguments: {} }).catch(error => error)
    const signal = await started.promise
    await front.revoke('worker')
    expect(signal.aborted).toBe(true)
    await client.close()
    await call
  })

  it('loses everything with its token', async () => {
    const { front } = await open()
    const client = await connect(front, 'worker', era)
    await client.callTool({ name: 'add', arguments: { a: 1, b: 1 } })
    await front.revoke('worker')
    await expect(client.callTool({ name: 'add', arguments: { a: 1, b: 1 } })).rejects.toThrow()
    expect(front.counts()).toEqual({ sessions: 0, streams: 0, requests: 0 })
  })
})

describe('the endpoint', () => {
  const post = (front: HttpFront, body: unknown, headers: Record<string, string> = {}) =>
    front.handle(
      new Request('http://localhost/mcp', {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      }),
    )
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  }
  const asWorker = { authorization: 'Bearer token-of-worker' }

  it('rejects requests without a token, and says how to get one', async () => {
    const { front } = await open()
    for (const headers of [{}, { authorization: 'Bearer nonsense' }, { authorization: 'Basic eDp5' }]) {
      const response = await post(front, initialize, headers as Record<string, string>)
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toContain('Bearer')
      expect(await response.json()).toMatchObject({ error: { data: { code: 'TOKEN_INVALID' } } })
    }
  })

  it('answers for a session of another token as for an unknown one', async () => {
    const { front } = await open()
    const opened = await post(front, initialize, asWorker)
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' }
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
    expect((await post(front, list, { ...asWorker, ...session })).status).toBe(200)
    const stolen = await post(front, list, { authorization: 'Bearer token-of-stranger', ...session })
    const unknown = await post(front, list, {
      authorization: 'Bearer token-of-stranger',
      'mcp-session-id': 'session_x',
    })
    expect([stolen.status, await stolen.text()]).toEqual([unknown.status, await unknown.text()])
    expect(stolen.status).toBe(404)
  })

  it('refuses what is no JSON and what is too large', async () => {
    const { front } = await open()
    expect((await post(front, '{', asWorker)).status).toBe(400)
    expect((await post(front, `"${'x'.repeat(5 * 1024 * 1024)}"`, asWorker)).status).toBe(413)
  })

  it('closes an idle session for a new one', async () => {
    const { front } = await open()
    for (let number = 0; number < 70; number++) expect((await post(front, initialize, asWorker)).status).toBe(200)
    expect(front.counts().sessions).toBe(64)
  })

  it('answers ordinary calls also when a token has all its streams open', async () => {
    const { front } = await open({}, { maxStreams: 1 })
    const client = await connect(front, 'worker', 'auto', { listChanged: { tools: { onChanged() {} } } })
    await expect.poll(() => front.counts().streams).toBe(1)
    expect(await client.callTool({ name: 'add', arguments: { a: 1, b: 1 } })).toMatchObject({
      structuredContent: { sum: 2 },
    })
  })

  it('ends the streams of a removed agent', async () => {
    const { hub, front } = await open()
    await connect(front, 'worker', 'auto', { listChanged: { tools: { onChanged() {} } } })
    await expect.poll(() => front.counts().streams).toBe(1)
    await hub.setAgents({ stranger: { capabilities: { other: {} } } })
    await front.endExcept(({ name }) => hub.agents.has(name))
    await expect.poll(() => front.counts().streams).toBe(0)
  })

  it('closes idle sessions', async () => {
    const { hub, front } = await open()
    await post(front, initialize, asWorker)
    expect(front.counts().sessions).toBe(1)
    await hub.clock.advance(46 * 60_000)
    expect(front.counts().sessions).toBe(0)
  })

  it('pages long listings, and refuses a cursor of another version', async () => {
    const many = Array.from({ length: 450 }, (_, index) => simpleTool(`tool_${index}`))
    const { hub, front } = await open({
      units: { 'main.ts': { capabilities: [simpleCapability('main', many)] } },
      agents: { worker: { capabilities: { main: {} } } },
    })
    const client = await connect(front, 'worker', 'legacy')
    const first = await client.listTools()
    expect(first.tools).toHaveLength(450)
    const page = await client.request({ method: 'tools/list', params: {} })
    expect(page.tools).toHaveLength(200)
    hub.write('main.ts', { capabilities: [simpleCapability('main', many.slice(1))] })
    await hub.catalogue.reload()
    await expect(client.request({ method: 'tools/list', params: { cursor: page.nextCursor ?? '' } })).rejects.toThrow(
      'List from the beginning',
    )
  })
})
