import type { UpstreamFixture } from './upstream-fixture.ts'

/** Calls a tool with whatever else the request is to have; answers the result, or the error. */
export type RawCall = (tool: string, args: object, more?: object) => Promise<Record<string, unknown>>

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
}

export interface RawClient {
  readonly agent?: string
  /** Sent beside those that it needs. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A client of the newer era that sends what it is told to. */
export async function rawCall(
  { up, tokenFor }: Pick<UpstreamFixture, 'up' | 'tokenFor'>,
  { agent = 'default', headers = {} }: RawClient = {},
): Promise<RawCall> {
  const token = await tokenFor(agent)
  return async (tool, args, more = {}) => {
    const params = { name: tool, arguments: args, _meta: META, ...more }
    const answer = await fetch(`${up.url}/mcp`, {
      method: 'POST',
      headers: {
        ...headers,
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': tool,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    })
    const text = await answer.text()
    const message = text.startsWith('{') ? text : (text.match(/^data: (.*"id":.*)$/m)?.[1] ?? '{}')
    const { result, error } = JSON.parse(message)
    return result ?? error
  }
}

/** The same with its end changed. */
export function tampered(text: unknown): string {
  const end = String(text).endsWith('AAAA') ? 'BBBB' : 'AAAA'
  return `${String(text).slice(0, -4)}${end}`
}
