import type { Server } from '@modelcontextprotocol/server'
import { orProtocolError } from './errors.ts'
import { askWhileOpen } from './legacy-questions.ts'
import { isModern, type McpRequest, requestOf } from './mcp-request.ts'
import { pageOf } from './page.ts'
import { toMcpTool } from './render.ts'
import type { ServerParts } from './server-parts.ts'
import { listed, type Shelf, versionsOf } from './shelf.ts'

/** Lists the tools of a shelf and calls them. */
export function serveTools(server: Server, shelf: Shelf, parts: ServerParts): void {
  const { toolCalls, states, begun } = parts
  server.setRequestHandler('tools/list', async (request, context) => {
    if (request.params?.cursor === undefined) await parts.beforeList?.(shelf.seat)
    const page = () => pageOf(listed(shelf), versionsOf(shelf).tools, request.params?.cursor)
    const { items, nextCursor } = orProtocolError(page)
    const tools = items.map(({ tool }) => toMcpTool(tool, { isModern: isModern(context) }))
    return nextCursor === undefined ? { tools } : { tools, nextCursor }
  })
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const request = requestOf(server, context, states)
    const call = (round: McpRequest) => toolCalls.call(shelf, params, round)
    const result = begun?.take(context) ?? (await call(request))
    // A task is a result of its own kind, which the SDK has no type for.
    return (await askWhileOpen(result, { context, request, again: call }, parts)) as never
  })
}
