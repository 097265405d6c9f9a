export type { HttpFront } from './http-front.ts'
export { createMcpServers, type McpServers, type McpServersDeps } from './mcp-servers.ts'
export { PROTOCOL_VERSIONS } from './revisions.ts'
export type { Who } from './who.ts'
