import { connect as connectSocket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type AnyTool, defineTool } from '../../core/catalogue/index.ts'
import { collectedLog } from '../../testing/collected-log.ts'
import { deferred } from '../../testing/deferred.ts'
import { startHttpServer } from '../../testing/http-server.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { ask, frontOf, type TestFront } from './testing/front.ts'

async function open(limits: Parameters<typeof frontOf>[1] = {}, tools: readonly AnyTool[] = [simpleTool('plain')]) {
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', tools)] } },
    agents: { worker: { capabilities: { main: {} } }, other: { capabilities: { main: {} } } },
  })
  const { log, lines } = collectedLog()
  return { hub, front: frontOf(hub, limits, log), lines }
}

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

function post(front: TestFront, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const sent = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  const all = { ...HEADERS, authorization: 'Bearer token-of-worker', ...headers }
  return front.handle(new Request('http://localhost/mcp', { method: 'POST', body: sent as string, headers: all }))
}

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
}
const PING = { jsonrpc: '2.0', id: 2, method: 'ping' }

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

const modern = (method: string, params: Record<string, unknown> = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params: { ...params, _meta: { ...META, ...(params._meta as object | undefined) } },
})
const headersFor = (method: string, name?: string) => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  ...(name === undefined ? {} : { 'mcp-name': name }),
})

/** A tool that answers when told to. */
function slowTool() {
  const entered = deferred()
  const finished = deferred()
  const tool = simpleTool('slow', {
    async handler() {
      entered.resolve()
      await finished.promise
      return 'done'
    },
  })
  return { tool, entered: entered.promise, finish: finished.resolve }
}

describe('a message', () => {
  it.each([
    ['is larger than it may be', `"${'x'.repeat(2_000)}"`, 413, -32000],
    ['nests too deep', `${'['.repeat(20)}${']'.repeat(20)}`, 413, -32000],
    ['has too many values', JSON.stringify(Array(200).fill(0)), 413, -32000],
    ['is one of too many in a batch', JSON.stringify(Array.from({ length: 6 }, () => PING)), 413, -32000],
    ['is no JSON', '{"jsonrpc":', 400, -32700],
    ['has a key that reaches a prototype', '{"__proto__":1}', 400, -32700],
  ])('that %s is refused', async (_what, body, status, code) => {
    const { front } = await open({ maxBodyBytes: 1_000, maxJsonDepth: 8, maxJsonValues: 100, maxBatch: 5 })
    const response = await post(front, body)
    expect(response.status).toBe(status)
    const answer = (await response.json()) as { error: { code: number } }
    expect(answer.error.code).toBe(code)
    expect(front.counts()).toEqual({ sessions: 0, streams: 0, requests: 0 })
  })

  it.each([true, false])('is read within the limits, whether its length is declared (%s) or not', async isDeclared => {
    const { front } = await open({ maxBodyBytes: 1_000 })
    const status = async (body: Uint8Array<ArrayBuffer>) =>
      (await post(front, body, isDeclared ? { 'content-length': String(body.length) } : {})).status
    expect(await status(new Uint8Array(1_001).fill(0x20))).toBe(413)
    expect(await status(Uint8Array.from([0x22, 0xff, 0xc3, 0x22]))).toBe(400)
    expect(await status(new TextEncoder().encode(JSON.stringify({ ...INITIALIZE, id: 'ü' })))).toBe(200)
  })
})

describe('one token', () => {
  it('is limited to a number of concurrent requests, without affecting other tokens', async () => {
    const { tool, entered, finish } = slowTool()
    const { front } = await open({ maxInFlight: 1 }, [tool, simpleTool('plain')])
    const call = (name: string, agent = 'worker') =>
      ask(front, agent, { method: 'tools/call', name, params: { name, arguments: {} } })
    const first = call('slow')
    await entered
    const refused = await post(front, modern('tools/list'), headersFor('tools/list'))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await refused.json()).toMatchObject({ error: { data: { code: 'RATE_LIMITED', retry: 'later' } } })
    expect((await call('plain', 'other')).status).toBe(200)
    finish()
    expect((await first).status).toBe(200)
    expect((await call('plain')).status).toBe(200)
    expect(front.counts().requests).toBe(0)
  })

  it('is limited to a number of open streams', async () => {
    const { front } = await open({ maxStreams: 1 })
    const listen = () =>
      post(front, modern('subscriptions/listen', { notifications: { toolsListChanged: true } }), {
        ...headersFor('subscriptions/listen'),
      })
    const first = await listen()
    expect([first.status, front.counts().streams]).toEqual([200, 1])
    const refused = await listen()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(front.counts()).toMatchObject({ streams: 1, requests: 1 })
    await first.body?.cancel()
    expect((await listen()).status).toBe(200)
  })

  it('is limited to a number of sessions; an idle one makes room', async () => {
    const { hub, front } = await open({ maxSessions: 2 })
    const [oldest, newer] = [await post(front, INITIALIZE), await post(front, INITIALIZE)].map(
      response => response.headers.get('mcp-session-id') ?? '',
    )
    const listening = (session = '') =>
      front.handle(
        new Request('http://localhost/mcp', {
          headers: { accept: 'text/event-stream', authorization: 'Bearer token-of-worker', 'mcp-session-id': session },
        }),
      )
    const streams = [await listening(oldest), await listening(newer)]
    const refused = await post(front, INITIALIZE)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await refused.json()).toMatchObject({ error: { data: { code: 'RATE_LIMITED' } } })
    expect((await post(front, INITIALIZE, { authorization: 'Bearer token-of-other' })).status).toBe(200)
    await hub.clock.advance(6 * 60_000)
    await streams[0]?.body?.cancel()
    const using = (session = '') => post(front, PING, { 'mcp-session-id': session })
    expect((await using(newer)).status).toBe(200)
    expect((await post(front, INITIALIZE)).status).toBe(200)
    expect([(await using(oldest)).status, (await using(newer)).status]).toEqual([404, 200])
    await streams[1]?.body?.cancel()
  })
})

describe('a client that never reads its stream', () => {
  /** A tool that tells how far it is for as long as the test lasts. */
  function talkativeTool(): AnyTool {
    const over = new AbortController()
    onTestFinished(() => over.abort())
    return defineTool({
      name: 'talk',
      short: 'Talks.',
      input: { type: 'object' },
      mutates: false,
      async handler(_input, { progress }) {
        for (let step = 1; !over.signal.aborted; step++) {
          progress({ progress: step, message: 'x'.repeat(64 * 1024) })
          await turn()
        }
        return 'over'
      },
    })
  }

  /** Sends the request over a bare socket and never reads. */
  function askDeafly(port: number, body: string, headers: Record<string, string>): void {
    const all = { ...HEADERS, ...headers, host: `localhost:${port}`, 'content-length': String(body.length) }
    const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
    const socket = connectSocket(port, '127.0.0.1', () =>
      socket.write(`POST /mcp HTTP/1.1\r\n${head.join('')}\r\n${body}`),
    )
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {}).pause()
  }

  const params = { name: 'talk', arguments: {}, _meta: { progressToken: 1 } }
  const authorization = 'Bearer token-of-worker'

  it('is cut off before its queue fills the memory', async () => {
    const { front, lines } = await open({ maxBacklogBytes: 256 * 1024 }, [talkativeTool()])
    const { port, close } = await startHttpServer({ mounts: [{ path: '/mcp', handle: front.handle }] })
    onTestFinished(() => close(0))
    const body = JSON.stringify(modern('tools/call', params))
    askDeafly(port, body, { authorization, ...headersFor('tools/call', 'talk') })
    await expect.poll(() => lines).toEqual([CUT])
  })

  it('is cut off in a session too', async () => {
    const { front, lines } = await open({ maxBacklogBytes: 256 * 1024 }, [talkativeTool()])
    const { port, close } = await startHttpServer({ mounts: [{ path: '/mcp', handle: front.handle }] })
    onTestFinished(() => close(0))
    const session = (await post(front, INITIALIZE)).headers.get('mcp-session-id') ?? ''
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    askDeafly(port, body, { authorization, 'mcp-session-id': session })
    await expect.poll(() => lines).toEqual([CUT])
  })

  const CUT = expect.stringContaining('did not read')
})

describe('header and body of a modern request', () => {
  it.each([
    ['the method', { 'mcp-method': 'tools/call' }],
    ['the revision', { 'mcp-protocol-version': '2025-11-25' }],
  ])('must agree on %s', async (_what, header) => {
    const { front } = await open()
    const response = await post(front, modern('tools/list'), { ...headersFor('tools/list'), ...header })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: -32020 } })
  })

  it('must agree on the name', async () => {
    const { front } = await open()
    const call = modern('tools/call', { name: 'plain', arguments: {} })
    const agreeing = headersFor('tools/call', 'plain')
    expect((await post(front, call, agreeing)).status).toBe(200)
    const response = await post(front, call, { ...agreeing, 'mcp-name': 'slow' })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: -32020 } })
  })
})

describe('a trace', () => {
  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
  const header = `00-${TRACE}-00f067aa0ba902b7-01`
  const named = `00-${TRACE.replace('4', '5')}-00f067aa0ba902b7-01`
  const tell = simpleTool('tell', { handler: (_input: never, { trace }) => JSON.stringify(trace ?? null) })

  it.each([
    ['the header', { traceparent: header, tracestate: 'v=1' }, {}, { traceparent: header, tracestate: 'v=1' }],
    ['the message', {}, { traceparent: named }, { traceparent: named }],
    ['nothing', {}, {}, null],
  ])('reaches the tool from %s', async (_where, headers, _meta, expected) => {
    const { front } = await open({}, [tell])
    const { result } = await ask(front, 'worker', {
      method: 'tools/call',
      name: 'tell',
      params: { name: 'tell', arguments: {}, _meta },
      headers,
    })
    expect(result?.content).toEqual([{ type: 'text', text: JSON.stringify(expected) }])
  })
})
