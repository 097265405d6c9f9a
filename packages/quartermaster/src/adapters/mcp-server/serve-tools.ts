import type { Server } from '@modelcontextprotocol/server'
import { orProtocolError } from './errors.ts'
import { isModern, requestOf } from './mcp-request.ts'
import { pageOf } from './page.ts'
import { toMcpTool } from './render.ts'
import type { AskingParts } from './server-parts.ts'
import { listed, type Shelf, versionsOf } from './shelf.ts'

/** Lists the tools of a shelf and calls them. */
export function serveTools(server: Server, shelf: Shelf, { toolCalls, states, begun, withdrawals }: AskingParts): void {
  server.setRequestHandler('tools/list', (request, context) => {
    const page = () => pageOf(listed(shelf), versionsOf(shelf).tools, request.params?.cursor)
    const { items, nextCursor } = orProtocolError(page)
    const tools = items.map(({ tool }) => toMcpTool(tool, { isModern: isModern(context) }))
    return nextCursor === undefined ? { tools } : { tools, nextCursor }
  })
  server.setRequestHandler('tools/call', async (request, context) => {
    const call = () => toolCalls.call(shelf, request.params, requestOf(server, context, states))
    const result = begun?.take(context) ?? (await call())
    // A task is a result of its own kind, which the SDK has no type for.
    return (await withdrawals.follow(result, context)) as never
  })
}
