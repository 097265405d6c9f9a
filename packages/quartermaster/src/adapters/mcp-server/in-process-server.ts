import type { Server } from '@modelcontextprotocol/server'
import type { McpServerConfig } from '../../contracts/index.ts'
import type { Agents, Seat } from '../../core/agents/index.ts'
import type { Ids } from '../../core/kernel/index.ts'
import { withAnnouncements } from './announcements.ts'
import { buildServer } from './server.ts'
import type { ServerParts } from './server-parts.ts'
import type { Shelf } from './shelf.ts'

export interface InProcessServerDeps extends ServerParts {
  readonly ids: Ids
  follow: Agents['follow']
}

/**
 * An MCP server inside this process that holds the tools one capability gives a seat. It is made when it is first
 * looked at, so that resolving starts nothing.
 */
export function inProcessServer(
  { key, seat }: { key: string; seat: Seat },
  deps: InProcessServerDeps,
): McpServerConfig {
  let server: Server | undefined
  const client = deps.ids.next('client')
  const shelf: Shelf = { name: key, seat, capability: key, client }
  return {
    type: 'sdk',
    name: key,
    get instance() {
      server ??= tellingEnd(withAnnouncements(buildServer(shelf, deps), shelf, deps), () => deps.clientGone?.(client))
      return server
    },
  }
}

/** Tells when its client has gone as well. */
function tellingEnd(server: Server, onGone: () => Promise<void> | undefined): Server {
  const { onclose } = server
  server.onclose = () => {
    onclose?.()
    void onGone()
  }
  return server
}
