import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server'

/** The revisions of MCP that are spoken here, the newest first. Those with sessions are what the SDK supports. */
export const PROTOCOL_VERSIONS: readonly string[] = ['2026-07-28', ...SUPPORTED_PROTOCOL_VERSIONS]
