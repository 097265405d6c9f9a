import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeProject, quartermaster, startUp, startUpProcess } from './support/product.ts'

const TOOLS = `
  import { defineCapability, defineTool } from 'quartermaster'
  const tool = (name, handler) =>
    defineTool({ name, short: 'x', input: { type: 'object' }, mutates: false, handler })
  export default defineCapability({ key: 'odd', short: 'Odd.', tools: [
    tool('where', (_, { trace }) => JSON.stringify(trace)),
    tool('around', (_, { call }) => call('where', {})),
    tool('fails', () => { throw new Error('failed') }),
  ] })
`
const project = () =>
  makeProject({ 'capabilities/odd.js': TOOLS, 'agents/worker.json': '{ "capabilities": { "odd": {} } }' })

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SECRET = 'an-argument-nobody-may-see'

/** Calls a tool as an agent over MCP. */
async function call(url: string, token: string, name: string, headers: Record<string, string> = {}): Promise<string> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const params = { name, arguments: { secret: SECRET }, _meta }
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
      ...headers,
    },
  })
  return response.text()
}

const tokenFor = async (dir: string) =>
  (await quartermaster(['tokens', 'create', 'worker', '--json'], { cwd: dir })).json<{ token: string }>().token

describe('/metrics', () => {
  it('tells what calls and requests there were, and what works', async () => {
    const dir = await project()
    const { url } = await startUp(dir)
    const token = await tokenFor(dir)
    await call(url, token, 'where')
    await call(url, token, 'fails')
    await call(url, 'wrong', 'where')
    const text = await (await fetch(`${url}/metrics`)).text()
    expect(text).toContain('quartermaster_calls_total{capability="odd",outcome="succeeded",code=""} 1\n')
    expect(text).toContain('quartermaster_calls_total{capability="odd",outcome="failed",code=""} 1\n')
    expect(text).toContain('quartermaster_tokens_refused_total{route="/mcp"} 1\n')
    expect(text).toContain('quartermaster_http_requests_total{route="/mcp",method="POST",status="2xx"} 2\n')
    expect(text).toContain('quartermaster_tools{state="disabled"} 0\n')
    expect(text).toMatch(/^quartermaster_store_commits_total [1-9]/m)
    expect(text).not.toMatch(new RegExp(`${SECRET}|\\b(?:where|fails)\\b`))
  })
})

interface ExportedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
}

/** Takes traces as any collector does. */
async function collector(): Promise<{ url: string; spans: ExportedSpan[]; text(): string }> {
  const bodies: string[] = []
  const spans: ExportedSpan[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    bodies.push(body)
    const { resourceSpans } = JSON.parse(body)
    spans.push(...resourceSpans.flatMap((group: never) => scopesIn(group)))
    response.end('{}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, text: () => bodies.join() }
}

function scopesIn({ scopeSpans }: { scopeSpans: { spans: ExportedSpan[] }[] }): ExportedSpan[] {
  return scopeSpans.flatMap(({ spans }) => spans)
}

describe('traces', () => {
  it('lead from the client through the request and the call to the tool', async () => {
    const { url: endpoint, spans, text } = await collector()
    const dir = await project()
    const up = await startUpProcess(dir, [], {
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    })
    const token = await tokenFor(dir)
    const parent = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` }
    const answer = await call(up.url, token, 'around', parent)
    expect(await up.stop()).toBe(0)
    const named = (name: string) => spans.find(span => span.name === name && span.traceId === TRACE)
    const [request, outer, inner] = ['POST /mcp', 'execute_tool around', 'execute_tool where'].map(named)
    expect(request?.parentSpanId).toBe('00f067aa0ba902b7')
    expect(outer?.parentSpanId).toBe(request?.spanId)
    expect(inner?.parentSpanId).toBe(outer?.spanId)
    expect(answer).toContain(`${TRACE}-${inner?.spanId}`)
    expect(text()).toContain('"quartermaster.agent"')
    expect(text()).not.toContain(SECRET)
    expect(text()).not.toContain(token)
  })

  it('are passed on to tools also without a collector', async () => {
    const dir = await project()
    const { url } = await startUpProcess(dir)
    const traceparent = `00-${TRACE}-00f067aa0ba902b7-00`
    expect(await call(url, await tokenFor(dir), 'where', { traceparent })).toContain(traceparent)
  })
})
