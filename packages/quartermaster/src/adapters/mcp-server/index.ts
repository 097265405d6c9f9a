export type { HttpFront } from './http-front.ts'
export type { AuthenticatedAgent } from './mcp-request.ts'
export { createMcpServers, type McpServers, type McpServersDeps, PROTOCOL_VERSIONS } from './mcp-servers.ts'
