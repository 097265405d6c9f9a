import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { onTestFinished } from 'vitest'
import type { Log } from '../../../core/kernel/index.ts'
import type { Hub } from '../../../testing/hub.ts'
import { silentLog } from '../../system/index.ts'
import type { FrontLimits } from '../http-streams.ts'
import type { HttpFront } from '../index.ts'

/** How a client finds out which revision to speak: the newest both know, or the one before sessions went. */
export const ERAS = ['auto', 'legacy'] as const
type Era = (typeof ERAS)[number]

/** A front whose tokens are `token-of-AGENT`, with a way to take them back. */
export type TestFront = HttpFront & { revoke(agent: string): Promise<void> }

export function frontOf(hub: Hub, limits: Partial<FrontLimits> = {}, log: Log = silentLog): TestFront {
  const revoked = new Set<string>()
  const front = hub.mcp.overHttp({
    log,
    limits,
    authenticate(token) {
      const agent = /^token-of-(\w+)$/.exec(token)?.[1]
      return agent === undefined || revoked.has(agent)
        ? undefined
        : { tokenId: token, session: hub.agents.session(agent) }
    },
  })
  onTestFinished(() => front.close())
  const revoke = (agent: string) => {
    revoked.add(agent)
    return front.end(`token-of-${agent}`)
  }
  return { ...front, revoke }
}

export async function connect(front: HttpFront, agent: string, era: Era, options: ClientOptions = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: era }, ...options })
  const fetch = (url: string | URL, init?: RequestInit) => front.handle(new Request(url, init))
  const requestInit = { headers: { authorization: `Bearer token-of-${agent}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), { fetch, requestInit }))
  onTestFinished(() => client.close())
  return client
}

/** One request of the modern era, as it is on the wire; for what the SDK's client cannot say. */
export async function ask(
  front: HttpFront,
  agent: string,
  message: {
    method: string
    name?: string
    params?: Record<string, unknown>
    capabilities?: object
    headers?: object
    signal?: AbortSignal
  },
): Promise<{ status: number; result?: Record<string, unknown>; error?: { code: number; message: string } }> {
  const { method, name, params = {}, capabilities = {}, headers = {}, signal } = message
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...(params._meta as object | undefined),
  }
  const response = await front.handle(
    new Request('http://localhost/mcp', {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer token-of-${agent}`,
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(name === undefined ? {} : { 'mcp-name': name }),
        ...headers,
      },
      ...(signal ? { signal } : {}),
    }),
  )
  return { status: response.status, ...(await readAnswer(response)) }
}

/** The last message of an answer, whether it came alone or after others. */
async function readAnswer(response: Response): Promise<object> {
  const text = await response.text()
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return JSON.parse(text)
  const messages = text.split('\n').filter(line => line.startsWith('data: '))
  return JSON.parse((messages.at(-1) ?? 'data: {}').slice('data: '.length))
}
