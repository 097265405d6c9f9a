import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { createSystemClock } from '../../system/index.ts'
import { openSession } from '../peer/open-session.ts'
import type { AskOptions, Behind } from '../peer/session.ts'
import { NO_EVENTS } from '../testing/bare-session.ts'
import { openHttpChannel } from './http-channel.ts'

function server(): McpServer {
  const mcp = new McpServer({ name: 'shop', version: '1.0.0' })
  mcp.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, async ({ a, b }) => ({
    content: [{ type: 'text', text: String(a + b) }],
  }))
  return mcp
}

async function serve(fetch: (request: Request) => Response | Promise<Response>): Promise<string> {
  const http = createServer(getRequestListener(fetch))
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    http.close()
    http.closeAllConnections()
  })
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
}

/** A server of 2025-11-25 that keeps sessions. */
function sessionful(): (request: Request) => Promise<Response> {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
  return async request => {
    const id = request.headers.get('mcp-session-id')
    const known = id === null ? undefined : sessions.get(id)
    if (known) return known.handleRequest(request)
    const transport: WebStandardStreamableHTTPServerTransport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: made => void sessions.set(made, transport),
    })
    await server().connect(transport)
    return transport.handleRequest(request)
  }
}

const NOBODY: Behind = {
  caller: 'test',
  canAnswer: { form: false, url: false, model: false, roots: false },
  ask: () => Promise.reject(new Error('Nobody is there.')),
  log() {},
}

async function session(url: string, era: 'auto' | 'legacy' | 'modern') {
  const clock = createSystemClock()
  const open = openHttpChannel({ name: 'shop', url, headers: {}, clock, log() {} })
  const signal = new AbortController().signal
  const opened = await openSession(
    { open, era, client: { name: 'test', version: '1' }, clock, events: NO_EVENTS },
    signal,
  )
  onTestFinished(() => opened.close())
  const call = (more: Partial<AskOptions> = {}) =>
    opened.ask('tools/call', { name: 'add', arguments: { a: 20, b: 22 } }, { signal, behind: NOBODY, ...more })
  return { facts: opened.facts, call, page: () => opened.page('tools', undefined, signal) }
}

/** Notes what comes with each call: its `_meta` and the header for keys. */
function noting(fetch: (request: Request) => Response | Promise<Response>) {
  const calls: { meta: unknown; header: string | null }[] = []
  const noted = async (request: Request) => {
    const text = await request.clone().text()
    if (text.includes('"method":"tools/call"'))
      calls.push({ meta: JSON.parse(text).params._meta, header: request.headers.get('idempotency-key') })
    return fetch(request)
  }
  return { calls, noted }
}

describe('a server of the SDK by HTTP', () => {
  it.each(['auto', 'modern'] as const)('of 2026-07-28 is met when the era is %s', async era => {
    const handler = createMcpHandler(() => server(), { legacy: 'reject' })
    const { facts, call, page } = await session(await serve(handler.fetch), era)
    expect(facts).toMatchObject({ era: 'modern', version: '2026-07-28', server: { name: 'shop' } })
    expect(await page()).toMatchObject({ tools: [{ name: 'add' }] })
    expect(await call()).toMatchObject({ content: [{ type: 'text', text: '42' }] })
  })

  it.each(['auto', 'legacy'] as const)('of 2025-11-25 is met when the era is %s', async era => {
    const { facts, call, page } = await session(await serve(sessionful()), era)
    expect(facts).toMatchObject({ era: 'legacy', version: '2025-11-25', server: { name: 'shop' } })
    expect(await page()).toMatchObject({ tools: [{ name: 'add' }] })
    expect(await call()).toMatchObject({ content: [{ type: 'text', text: '42' }] })
  })

  it.each(['modern', 'legacy'] as const)(
    'is told the key of a %s call beside its trace, and none without one',
    async era => {
      const modern = createMcpHandler(() => server(), { legacy: 'reject' })
      const { calls, noted } = noting(era === 'modern' ? modern.fetch : sessionful())
      const { call } = await session(await serve(noted), era)
      const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
      await call({ idempotencyKey: 'op_1', trace, onProgress() {} })
      await call({ onProgress() {} })
      const [keyed, plain] = calls
      expect(keyed).toMatchObject({ meta: { ...trace, 'quartermaster/idempotencyKey': 'op_1' }, header: 'op_1' })
      expect(keyed?.meta).toHaveProperty('progressToken')
      expect(plain?.header).toBeNull()
      expect(plain?.meta).not.toHaveProperty(['quartermaster/idempotencyKey'])
    },
  )
})
