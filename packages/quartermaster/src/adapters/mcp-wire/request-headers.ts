import { type MirroredParameter, mirroredText } from '../../core/kernel/index.ts'
import { metaOf, type Params, type Request } from './json-rpc.ts'

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

/** The revision that a message of the modern era says it speaks. */
export function claimedVersion(params: Params | undefined): string | undefined {
  const version = metaOf(params)[VERSION_KEY]
  return typeof version === 'string' ? version : undefined
}

/** Which parameter the `Mcp-Name` header repeats (MCP 2026-07-28, Streamable HTTP, "Standard Request Headers"). */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

/** The headers that repeat what a request of the modern era says; the server refuses it when they do not agree. */
export function standardHeaders({ method, params }: Pick<Request, 'method' | 'params'>): Record<string, string> {
  const version = claimedVersion(params)
  if (version === undefined) return {}
  const field = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined
  const name = field === undefined ? undefined : params?.[field]
  const headers = { 'mcp-protocol-version': headerValue(version), 'mcp-method': headerValue(method) }
  return typeof name === 'string' ? { 'mcp-name': headerValue(name), ...headers } : headers
}

/** The headers that repeat marked arguments. What is absent or no plain value has none. */
export function parameterHeaders(parameters: readonly MirroredParameter[], given: unknown): Record<string, string> {
  const entries = parameters.flatMap(parameter => {
    const text = mirroredText(parameter, given)
    return text === undefined ? [] : [[`mcp-param-${parameter.header.toLowerCase()}`, headerValue(text)]]
  })
  return Object.fromEntries(entries) as Record<string, string>
}

const WRAPPED = /^=\?base64\?.*\?=$/s
/** What can stand in a header as it is; blanks at the ends would be cut off. */
const PLAIN = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/

/** A value as a header carries it: wrapped in Base64 when it could not stand there as it is. */
export function headerValue(text: string): string {
  if (PLAIN.test(text) && !WRAPPED.test(text)) return text
  return `=?base64?${Buffer.from(text).toString('base64')}?=`
}
