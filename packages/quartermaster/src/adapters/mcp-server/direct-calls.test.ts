import { describe, expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { toolFailure, toolResult } from '../../core/catalogue/index.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { add } from './testing/add-tool.ts'
import { frontOf, type TestFront } from './testing/front.ts'

const counts = simpleTool('counts', {
  handler(_input: never, { progress }) {
    for (const step of [1, 2]) progress({ progress: step, total: 2 })
    return 'counted'
  },
})
const asks = simpleTool('asks', {
  handler: async (_input: never, { ask }) => (await ask({ key: 'sure', message: 'Sure?' })).action,
})
const mirrors = simpleTool('mirrors', {
  input: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
})
const tools = [
  add,
  counts,
  asks,
  mirrors,
  simpleTool('no', { handler: () => toolFailure('No.') }),
  simpleTool('pictures', {
    handler: () => toolResult({ content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }] }),
  }),
  simpleTool('nothing', { handler: () => undefined }),
  simpleTool('slow', { asTask: 'always' }),
  simpleTool('unspeakable', {
    handler() {
      throw new AppError('DEPENDENCY_UNAVAILABLE', 'It is gone.', { details: { size: 1n } })
    },
  }),
]

async function frontWith(directCalls: boolean): Promise<TestFront> {
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', tools)] } },
    agents: { worker: { capabilities: { main: {} } } },
    settings: { directCalls },
  })
  return frontOf(hub)
}

interface Case {
  name?: unknown
  arguments?: unknown
  meta?: Record<string, unknown>
  message?: Record<string, unknown>
  params?: Record<string, unknown>
  headers?: Record<string, string>
}

async function send(
  front: TestFront,
  { name = 'add', meta = {}, message = {}, params = {}, headers = {}, ...rest }: Case,
) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    ...meta,
  }
  const given = { name, arguments: rest.arguments, _meta, ...params }
  const response = await front.handle(
    new Request('http://localhost/mcp', {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: given, ...message }),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: 'Bearer token-of-worker',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': String(name),
        ...headers,
      },
    }),
  )
  const type = response.headers.get('content-type')?.split(';')[0]
  return { status: response.status, type, messages: messagesIn(withoutChance(await response.text())) }
}

/** What differs from call to call. */
function withoutChance(text: string): string {
  return text.replace(/op_[\w-]{24}/g, 'op_ID').replace(/"requestState":"[^"]+"/g, '"requestState":"STATE"')
}

/** The messages, whatever the order of their keys. */
function messagesIn(text: string): unknown[] {
  const frames = text.split('\n').filter(line => line.startsWith('data: '))
  return frames.length > 0 ? frames.map(line => JSON.parse(line.slice('data: '.length))) : [JSON.parse(text || 'null')]
}

const CASES: Record<string, Case> = {
  'a call': { arguments: { a: 20, b: 22 } },
  'a call without arguments': { name: 'nothing' },
  'a call by a client that says who it is': {
    arguments: { a: 1, b: 2 },
    meta: { 'io.modelcontextprotocol/clientInfo': { name: 'me', version: '1' }, traceparent: '00-1-2-01' },
  },
  'a call whose id is a text': { arguments: { a: 1, b: 2 }, message: { id: 'seven' } },
  'a call that hears of progress': { name: 'counts', meta: { progressToken: 'p1' } },
  'a call that wants to hear of nothing': { name: 'counts' },
  'a tool that says no': { name: 'no' },
  'a tool that answers with a picture': { name: 'pictures' },
  'wrong arguments': { arguments: { a: 'x' } },
  'a tool that does not exist': { name: 'unheard_of' },
  'a question to a client that can answer': {
    name: 'asks',
    meta: { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } },
  },
  'a question to a client that cannot': { name: 'asks' },
  'a question that was answered before': {
    name: 'asks',
    meta: { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } },
    params: { inputResponses: { sure: { action: 'accept', content: {} } } },
  },
  'a state that nobody signed': { name: 'asks', params: { requestState: 'v1.made-up.state' } },
  'a tool that can only be followed': { name: 'slow' },
  'a mirrored argument': { name: 'mirrors', arguments: { region: 'eu' }, headers: { 'mcp-param-region': 'eu' } },
  'a mirrored argument that says something else': {
    name: 'mirrors',
    arguments: { region: 'eu' },
    headers: { 'mcp-param-region': 'us' },
  },
  'a client that wants logs': { name: 'counts', meta: { 'io.modelcontextprotocol/logLevel': 'info' } },
  'an unknown revision': {
    arguments: { a: 1, b: 2 },
    meta: { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' },
    headers: { 'mcp-protocol-version': '2099-01-01' },
  },
  'another name in the header': { arguments: { a: 1, b: 2 }, headers: { 'mcp-name': 'counts' } },
  'a name in the header as Base64': { arguments: { a: 1, b: 2 }, headers: { 'mcp-name': '=?base64?YWRk?=' } },
  'another method in the header': { headers: { 'mcp-method': 'tools/list' } },
  'another revision in the header': { headers: { 'mcp-protocol-version': '2025-11-25' } },
  'another type of body': { arguments: { a: 1, b: 2 }, headers: { 'content-type': 'text/plain' } },
  'a type of body that only begins like JSON': { headers: { 'content-type': 'application/json-patch+json' } },
  'two types of body': { headers: { 'content-type': 'application/json, text/plain' } },
  'a member that JSON-RPC does not have': { arguments: { a: 1, b: 2 }, message: { extra: true } },
  'a task it is related to, in the old way': { meta: { 'io.modelcontextprotocol/related-task': 7 } },
  'capabilities with odd members': {
    meta: { 'io.modelcontextprotocol/clientCapabilities': { sampling: { tools: 7 } } },
  },
  'capabilities nobody has heard of': {
    arguments: { a: 1, b: 2 },
    meta: { 'io.modelcontextprotocol/clientCapabilities': { telepathy: {} } },
  },
  'a client with an icon that is none': {
    meta: { 'io.modelcontextprotocol/clientInfo': { name: 'me', version: '1', icons: 'none' } },
  },
  'an error that cannot be written as JSON': { name: 'unspeakable' },
  'capabilities that are none': { meta: { 'io.modelcontextprotocol/clientCapabilities': 'all' } },
  'a client that is no client': { meta: { 'io.modelcontextprotocol/clientInfo': { name: 7 } } },
  'a name that is none': { name: 7 },
  'arguments that are a list': { arguments: [1, 2] },
  'a progress token that is none': { name: 'counts', meta: { progressToken: { a: 1 } } },
  'an id that is none': { message: { id: { a: 1 } } },
  'no id': { message: { id: undefined } },
  'another version of JSON-RPC': { message: { jsonrpc: '1.0' } },
}

describe('an ordinary call', () => {
  it.each(Object.entries(CASES))('is answered alike by the direct path and by the SDK: %s', async (_what, request) => {
    const [direct, sdk] = await Promise.all([frontWith(true), frontWith(false)])
    expect(await send(direct, request)).toEqual(await send(sdk, request))
  })
})
