import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { onEnd } from '../../src/testing/shared-fixture.ts'

type Json = Record<string, unknown>

/** An MCP server by HTTP that a test can have misbehave and restart. */
export interface RudeServer {
  readonly url: string
  /** Connections that are open now. */
  open(): number
  /** How often a client has asked what it is. */
  met(): number
  /** Breaks all connections, is gone for a moment, and is back at the same address. It knows no session of before. */
  restart(): Promise<void>
  /** From now on every answer is called this, and says nothing. */
  answerAs(contentType: string): void
}

/** Its tools, and how each answers. */
const TOOLS: Record<string, (response: ServerResponse, answer: Json) => unknown> = {
  /** As it should. */
  echo: (response, answer) => json(response, answer),
  /** With a page that never ends. */
  endless: response => response.writeHead(200, { 'content-type': 'text/html' }).write('<p>'),
  /** With a refusal that never ends. */
  refuse: response => response.writeHead(403, { 'content-type': 'text/html' }).write('<p>'),
  /** With a stream that stays open behind the answer. */
  linger(response, answer) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`data: ${JSON.stringify(answer)}\n\n`)
  },
  /** With half of an answer. */
  stop: response => response.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc":'),
}

export async function startRudeServer(era: 'legacy' | 'modern'): Promise<RudeServer> {
  const sockets = new Set<Socket>()
  let contentType: string | undefined
  let server: Server | undefined
  let session = ''
  let met = 0

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    if (contentType !== undefined) return void response.writeHead(200, { 'content-type': contentType }).end('x')
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const known = request.headers['mcp-session-id']
    if (known !== undefined && known !== session) return void response.writeHead(404).end()
    const asked = JSON.parse(text) as Json
    if (asked.method === (era === 'legacy' ? 'initialize' : 'server/discover')) met++
    if (asked.method === 'initialize') response.setHeader('mcp-session-id', session)
    answer(asked, response, era)
  }

  async function listen(port = 0): Promise<number> {
    const made = createServer((request, response) => void receive(request, response).catch(() => response.destroy()))
    made.on('connection', socket => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    })
    await new Promise<void>(resolve => made.listen(port, '127.0.0.1', resolve))
    server = made
    session = crypto.randomUUID()
    return (made.address() as AddressInfo).port
  }

  const close = () =>
    new Promise<void>(resolve => {
      server?.close(() => resolve())
      server?.closeAllConnections()
    })

  const port = await listen()
  onEnd(close)
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    open: () => sockets.size,
    met: () => met,
    async restart() {
      await close()
      await listen(port)
    },
    answerAs(type) {
      contentType = type
    },
  }
}

function answer({ id, method, params }: Json, response: ServerResponse, era: 'legacy' | 'modern'): void {
  const result = (value: Json) => ({ jsonrpc: '2.0', id, result: value })
  if (id === undefined) return void response.writeHead(202).end()
  if (method === 'tools/call') {
    const { name, arguments: given } = params as { name: string; arguments: Json }
    return void TOOLS[name]?.(response, result({ content: [{ type: 'text', text: String(given.text) }] }))
  }
  // The stream of what changes stays open, and nothing does.
  if (method === 'subscriptions/listen')
    return response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  const known = answers(era)[String(method)]
  json(response, known ? result(known) : { jsonrpc: '2.0', id, error: { code: -32_601, message: 'No such method' } })
}

function answers(era: 'legacy' | 'modern'): Record<string, Json> {
  const capabilities = { tools: {} }
  const serverInfo = { name: 'rude', version: '1' }
  const first: Record<string, Json> =
    era === 'modern'
      ? { 'server/discover': { supportedVersions: ['2026-07-28'], capabilities, serverInfo } }
      : { initialize: { protocolVersion: '2025-11-25', capabilities, serverInfo }, ping: {} }
  return { ...first, 'tools/list': { tools: Object.keys(TOOLS).map(toolOf) } }
}

function toolOf(name: string): Json {
  const inputSchema = { type: 'object', properties: { text: { type: 'string' } } }
  return { name, description: `Does ${name}.`, inputSchema, annotations: { readOnlyHint: name === 'echo' } }
}

function json(response: ServerResponse, value: Json): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
