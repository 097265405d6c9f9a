import { randomBytes } from 'node:crypto'
import type { McpServerConfig } from '../../contracts/index.ts'
import type { Agents, Seat } from '../../core/agents/index.ts'
import type { Clock, Ids, Log } from '../../core/kernel/index.ts'
import type { Calls, KeptResults } from '../../core/operations/index.ts'
import { createHttpFront, type HttpFront, type HttpFrontDeps } from './http-front.ts'
import { inProcessServer } from './in-process-server.ts'
import { createParkedCalls } from './parked-calls.ts'
import { createStates } from './server.ts'

export interface McpServersDeps {
  readonly calls: Calls
  readonly results: KeptResults
  readonly clock: Clock
  readonly ids: Ids
  readonly version: string
  follow: Agents['follow']
}

/** Everything that speaks MCP in front. */
export interface McpServers {
  /** The server of one capability, inside this process. */
  inProcess(options: { key: string; seat: Seat }): McpServerConfig
  /** The endpoint for clients elsewhere. */
  overHttp(options: { authenticate: HttpFrontDeps['authenticate']; log: Log }): HttpFront
}

export function createMcpServers(deps: McpServersDeps): McpServers {
  const parked = createParkedCalls(deps)
  const parts = { ...deps, parked, states: createStates(randomBytes(32)) }
  return {
    inProcess: options => inProcessServer(options, parts),
    overHttp: options => createHttpFront({ ...parts, ...options }),
  }
}
