import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { onTestFinished } from 'vitest'
import type { Era } from '../peer/session.ts'

/** A server of the SDK behind one address that may be put in the place of one of the other era. */
export interface EraServer {
  readonly url: string
  /** The methods that it was sent, in turn. */
  readonly methods: string[]
  /** The tools that were run, each with the era of the one that ran it. */
  readonly runs: string[]
  /** From here on one of this era answers, on the connections that there are. What the one before knew is forgotten. */
  become(era: Era): void
}

/** With one tool that only reads, and one that changes something. */
export async function eraServer(first: Era): Promise<EraServer> {
  const methods: string[] = []
  const runs: string[] = []
  const made = { modern: () => modern(runs), legacy: () => legacy(runs) }
  let answer = made[first]()
  const listener = getRequestListener(async request => {
    const text = await request.clone().text()
    if (text !== '') methods.push(String(JSON.parse(text).method))
    return answer(request)
  })
  const http = createServer(listener)
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    http.close()
    http.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    methods,
    runs,
    become(era) {
      answer = made[era]()
    },
  }
}

type Answer = (request: Request) => Promise<Response>

/** Of 2026-07-28 alone. */
function modern(runs: string[]): Answer {
  const handler = createMcpHandler(() => shop('modern', runs), { legacy: 'reject' })
  return request => handler.fetch(request)
}

/** Of 2025-11-25, and keeps sessions. What comes without one that it knows, the SDK answers in its own words. */
function legacy(runs: string[]): Answer {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
  return async request => {
    const known = sessions.get(request.headers.get('mcp-session-id') ?? '')
    if (known) return known.handleRequest(request)
    const transport: WebStandardStreamableHTTPServerTransport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: id => void sessions.set(id, transport),
    })
    await shop('legacy', runs).connect(transport)
    return transport.handleRequest(request)
  }
}

function shop(era: Era, runs: string[]): McpServer {
  const mcp = new McpServer({ name: 'shop', version: '1.0.0' })
  for (const [name, readOnlyHint] of [
    ['count', true],
    ['buy', false],
  ] as const)
    mcp.registerTool(name, { description: `Does ${name}.`, annotations: { readOnlyHint } }, async () => {
      runs.push(`${name} ${era}`)
      return { content: [{ type: 'text', text: `${name} done` }] }
    })
  return mcp
}
