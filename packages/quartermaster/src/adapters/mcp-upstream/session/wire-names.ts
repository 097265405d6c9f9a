/** The revision of the modern era that we speak, and those of the legacy era, newest first. */
export const MODERN_VERSION = '2026-07-28'
export const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

/** Keys of `_meta` that MCP 2026-07-28 defines. */
export const META = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const

/** The first word of a subscription (MCP 2026-07-28): from here on changes are told. */
export const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

/** By a map: of an object, what a server calls `constructor` would be a list too. */
export const LIST_CHANGED: ReadonlyMap<string, 'tools' | 'prompts' | 'resources'> = new Map([
  ['notifications/tools/list_changed', 'tools'],
  ['notifications/prompts/list_changed', 'prompts'],
  ['notifications/resources/list_changed', 'resources'],
])
