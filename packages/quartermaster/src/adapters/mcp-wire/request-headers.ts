import { type MirroredParameter, mirroredText } from '../../core/kernel/index.ts'
import { metaOf, type Params, type Request } from './json-rpc.ts'

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

/** The protocol revision that a modern message declares. */
export function claimedVersion(params: Params | undefined): string | undefined {
  const version = metaOf(params)[VERSION_KEY]
  return typeof version === 'string' ? version : undefined
}

/** The parameter that the `Mcp-Name` header mirrors (MCP 2026-07-28, Streamable HTTP, "Standard Request Headers"). */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

/** Headers that mirror a modern request; the server rejects the request when they disagree. */
export function standardHeaders({ method, params }: Pick<Request, 'method' | 'params'>): Record<string, string> {
  const version = claimedVersion(params)
  if (version === undefined) return {}
  const field = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined
  const name = field === undefined ? undefined : params?.[field]
  const headers = { 'mcp-protocol-version': headerValue(version), 'mcp-method': headerValue(method) }
  return typeof name === 'string' ? { 'mcp-name': headerValue(name), ...headers } : headers
}

/** Headers that mirror marked arguments. Absent and non-primitive arguments have none. */
export function parameterHeaders(parameters: readonly MirroredParameter[], given: unknown): Record<string, string> {
  const entries = parameters.flatMap(parameter => {
    const text = mirroredText(parameter, given)
    return text === undefined ? [] : [[`mcp-param-${parameter.header.toLowerCase()}`, headerValue(text)]]
  })
  return Object.fromEntries(entries) as Record<string, string>
}

const WRAPPED = /^=\?base64\?.*\?=$/s
/** What a header can hold unchanged; blanks at the ends would be trimmed. */
const PLAIN = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/

/** Encodes a header value, in Base64 where it cannot stand as it is. */
export function headerValue(text: string): string {
  if (PLAIN.test(text) && !WRAPPED.test(text)) return text
  return `=?base64?${Buffer.from(text).toString('base64')}?=`
}
