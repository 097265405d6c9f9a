import type { Server } from '@modelcontextprotocol/server'
import type { McpServerConfig } from '../../contracts/index.ts'
import type { Agents, Seat } from '../../core/agents/index.ts'
import { buildServer, type ServerParts } from './server.ts'
import { type Shelf, versionOf } from './shelf.ts'

export interface InProcessServerDeps extends ServerParts {
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
  const shelf: Shelf = { name: key, seat, capability: key }
  return {
    type: 'sdk',
    name: key,
    get instance() {
      server ??= withAnnouncements(buildServer(shelf, deps), shelf, deps.follow)
      return server
    },
  }
}

/** Tells the client of a session when its list changed. */
export function withAnnouncements(server: Server, shelf: Shelf, follow: Agents['follow']): Server {
  let stop = () => {}
  server.oninitialized = () => {
    let told = versionOf(shelf)
    stop()
    stop = follow(shelf.seat, () => {
      const now = versionOf(shelf)
      // The seat may have other capabilities; only a change of this shelf concerns its client.
      if (now === told) return
      told = now
      // A client that has just gone away needs no news.
      server.sendToolListChanged().catch(() => {})
      server.sendResourceListChanged().catch(() => {})
    })
  }
  server.onclose = () => stop()
  return server
}
