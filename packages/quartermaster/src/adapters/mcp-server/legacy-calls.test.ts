import { describe, expect, it } from 'vitest'
import { toolFailure, toolResult } from '../../core/catalogue/index.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { add } from './testing/add-tool.ts'
import { frontOf, type TestFront } from './testing/front.ts'
import { openRawSession, type RawAnswer } from './testing/raw-session.ts'

const ran: string[] = []

const asks = simpleTool('asks', {
  async handler(_input: never, { ask, progress, log }) {
    ran.push('asks')
    const first = await ask({ key: 'sure', message: 'Sure?' })
    progress({ progress: 1, total: 2 })
    log.info('half way', { at: 1 })
    const second = await ask({ key: 'really', message: 'Really?' })
    return `${first.action}, ${second.action}`
  },
})
const tools = [
  add,
  simpleTool('counts', {
    handler(_input: never, { progress }) {
      for (const step of [1, 2]) progress({ progress: step, total: 2, message: `step ${step}` })
      return 'counted'
    },
  }),
  simpleTool('tells', {
    handler(_input: never, { log }) {
      log.debug('small')
      log.info('plain')
      log.warn('strange', { by: 2 })
      log.error('bad')
      return 'told'
    },
  }),
  asks,
  simpleTool('tells_and_asks', {
    async handler(_input: never, { ask, progress, log }) {
      ran.push('tells_and_asks')
      log.info('before')
      progress({ progress: 1 })
      return (await ask({ message: 'Sure?' })).action
    },
  }),
  simpleTool('no', { handler: () => toolFailure('No.') }),
  simpleTool('pictures', {
    handler: () => toolResult({ content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }] }),
  }),
  simpleTool('lists', { output: { type: 'array' }, handler: () => [1, 2] as never }),
  simpleTool('nothing', { handler: () => undefined }),
  simpleTool('breaks', {
    handler() {
      throw new Error('Oh.')
    },
  }),
  simpleTool('slow', { asTask: 'always', handler: () => 'done' }),
  simpleTool('mirrors', {
    input: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
  }),
]

async function frontWith(directCalls: boolean): Promise<TestFront> {
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', tools)] } },
    agents: { worker: { capabilities: { main: {} } }, other: { capabilities: { main: {} } } },
    settings: { directCalls },
  })
  return frontOf(hub)
}

interface Case {
  name?: unknown
  arguments?: unknown
  meta?: unknown
  params?: Record<string, unknown>
  message?: Record<string, unknown>
  headers?: Record<string, string>
  capabilities?: object
  /** Whose token it is sent with; that of the session's agent unless said otherwise. */
  sentBy?: string
  /** What the client sends in the session before. */
  before?: Record<string, unknown>
}

async function send(front: TestFront, one: Case): Promise<RawAnswer> {
  const { name = 'add', meta, params = {}, message = {}, sentBy = 'worker', before, headers, capabilities = {} } = one
  const session = await openRawSession(front, { capabilities })
  if (before) await session.ask({ jsonrpc: '2.0', id: 1, ...before })
  const given = { name, arguments: one.arguments, ...(meta === undefined ? {} : { _meta: meta }), ...params }
  const answer = await session.call(given, message, { authorization: `Bearer token-of-${sentBy}`, ...headers })
  return JSON.parse(JSON.stringify(answer).replace(/op_[\w-]{24}/g, 'op_ID'))
}

const CAN_ANSWER = { elicitation: { form: {} } }
const SUM = { a: 20, b: 22 }

/** What is answered with one document. */
const ORDINARY: Record<string, Case> = {
  'a call': { arguments: SUM },
  'a call without arguments': { name: 'nothing' },
  'a call whose id is a text': { arguments: SUM, message: { id: 'seven' } },
  'a call with words of the client’s own': { arguments: SUM, meta: { 'client/note': 1, traceparent: '00-1-2-01' } },
  'a call that names the revision': { arguments: SUM, headers: { 'mcp-protocol-version': '2025-11-25' } },
  'a call that names an old revision': { arguments: SUM, headers: { 'mcp-protocol-version': '2024-11-05' } },
  'a call that wants to hear of nothing': { name: 'counts' },
  'a tool that says no': { name: 'no' },
  'a tool that breaks': { name: 'breaks' },
  'a tool that answers with a picture': { name: 'pictures' },
  'a tool whose structure no client of the time takes': { name: 'lists' },
  'a tool that others can only follow': { name: 'slow' },
  'a mirrored argument that says something else': {
    name: 'mirrors',
    arguments: { region: 'eu' },
    headers: { 'mcp-param-region': 'us' },
  },
  'wrong arguments': { arguments: { a: 'x' } },
  'a tool that does not exist': { name: 'unheard_of' },
  'a call under a key': { arguments: SUM, meta: { 'quartermaster/idempotencyKey': 'k1' } },
  'a question to a client that cannot answer': { name: 'asks' },
}

/** What is answered with a stream. */
const STREAMED: Record<string, Case> = {
  'a call that hears of progress': { name: 'counts', meta: { progressToken: 'p1' } },
  'a call whose progress has a number for a name': { name: 'counts', meta: { progressToken: 0 } },
  'a tool that tells what it does': { name: 'tells' },
  'questions to a client that can answer': { name: 'asks', capabilities: CAN_ANSWER, meta: { progressToken: 1 } },
  'a question after something was told': {
    name: 'tells_and_asks',
    capabilities: CAN_ANSWER,
    meta: { progressToken: 1 },
  },
}

/** What the SDK answers. */
const OTHERS: Record<string, Case> = {
  'an unknown revision': { headers: { 'mcp-protocol-version': '2099-01-01' } },
  'the revision without sessions': { headers: { 'mcp-protocol-version': '2026-07-28' } },
  'a method in the header': { arguments: SUM, headers: { 'mcp-method': 'tools/call' } },
  'a client that takes only documents': { arguments: SUM, headers: { accept: 'application/json' } },
  'another type of body': { arguments: SUM, headers: { 'content-type': 'text/plain' } },
  'no such session': { arguments: SUM, headers: { 'mcp-session-id': 'session_made_up' } },
  'a session of another token': { arguments: SUM, sentBy: 'other' },
  'no token at all': { arguments: SUM, headers: { authorization: '' } },
  'a client that chose its logs': { name: 'tells', before: { method: 'logging/setLevel', params: { level: 'error' } } },
  'a member that JSON-RPC does not have': { arguments: SUM, message: { extra: true } },
  'another version of JSON-RPC': { arguments: SUM, message: { jsonrpc: '1.0' } },
  'an id that is none': { arguments: SUM, message: { id: { a: 1 } } },
  'no id': { arguments: SUM, message: { id: undefined } },
  'a name that is none': { name: 7 },
  'arguments that are a list': { arguments: [1, 2] },
  'no params': { message: { params: undefined } },
  'a task of 2025-11-25': { arguments: SUM, params: { task: { ttl: 1_000 } } },
  'answers that nobody asked for': { name: 'asks', params: { inputResponses: { sure: { action: 'accept' } } } },
  'a progress token that is none': { name: 'counts', meta: { progressToken: { a: 1 } } },
  'a meta that is none': { arguments: SUM, meta: 'much' },
  'a task it is related to': { arguments: SUM, meta: { 'io.modelcontextprotocol/related-task': { taskId: 't' } } },
  'a revision in its meta': { arguments: SUM, meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
  'a level of logs in its meta': { name: 'tells', meta: { 'io.modelcontextprotocol/logLevel': 'error' } },
}

async function bothWays(request: Case): Promise<{ direct: RawAnswer; sdk: RawAnswer }> {
  const [direct, sdk] = await Promise.all([frontWith(true), frontWith(false)])
  return { direct: await send(direct, request), sdk: await send(sdk, request) }
}

describe('a call in a session', () => {
  it.each(Object.entries(ORDINARY))('is answered alike, but with one document: %s', async (_what, request) => {
    const { direct, sdk } = await bothWays(request)
    expect(direct).toEqual({ ...sdk, type: 'application/json' })
    expect(sdk.type).toBe('text/event-stream')
  })

  it.each(Object.entries(STREAMED))('is answered alike, with a stream: %s', async (_what, request) => {
    const { direct, sdk } = await bothWays(request)
    expect(direct).toEqual(sdk)
    expect(direct.messages.length).toBeGreaterThan(1)
  })

  it.each(Object.entries(OTHERS))('is left to the SDK: %s', async (_what, request) => {
    const { direct, sdk } = await bothWays(request)
    expect(direct).toEqual(sdk)
  })

  it('is left to the SDK when it is one of several', async () => {
    const session = await openRawSession(await frontWith(true))
    const call = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'add', arguments: SUM } })
    const { type, messages } = await session.ask([call(1), call(2)])
    expect([type, messages.length]).toEqual(['text/event-stream', 2])
  })

  it.each(['asks', 'tells_and_asks'])('runs once, however many questions it asks: %s', async name => {
    const session = await openRawSession(await frontWith(true), { capabilities: CAN_ANSWER })
    const before = ran.filter(one => one === name).length
    const { messages } = await session.call({ name, _meta: { progressToken: 1 } })
    expect(messages.at(-1)).toMatchObject({ id: 7, result: { content: [{ text: expect.stringContaining('accept') }] } })
    expect(ran.filter(one => one === name).length - before).toBe(1)
  })

  it('says in which session it was answered', async () => {
    const session = await openRawSession(await frontWith(true))
    const call = (name: string, _meta = {}) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, _meta },
    })
    const answers = [await session.post(call('nothing')), await session.post(call('counts', { progressToken: 1 }))]
    expect(answers.map(({ headers }) => headers.get('mcp-session-id'))).toEqual([session.id, session.id])
  })
})
