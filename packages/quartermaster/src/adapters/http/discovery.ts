import type { Context } from 'hono'
import type { HttpEnv } from './env.ts'

/** What registries and catalogues may know. Nothing of it depends on who asks, so no agent and no tool is in it. */
export interface DiscoveryOptions {
  /** Where MCP is served: `/mcp`. */
  mcpPath: `/${string}`
  /** The revisions of MCP that are spoken there. */
  protocolVersions: readonly string[]
  version: string
}

/** The server card (SEP-2127): where and how to connect, and that a token is needed. */
export function serverCard(c: Context<HttpEnv>, options: DiscoveryOptions): Response {
  const { origin, hostname } = placeOf(c)
  return documentResponse('application/mcp-server-card+json', {
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    name: `${hostname.split('.').toReversed().join('.')}/${NAME}`,
    version: options.version,
    title: TITLE,
    description: DESCRIPTION,
    remotes: [
      {
        type: 'streamable-http',
        url: `${origin}${options.mcpPath}`,
        headers: [AUTHORIZATION],
        supportedProtocolVersions: options.protocolVersions,
      },
    ],
  })
}

/** The AI catalogue of this host: its one server card. */
export function aiCatalogue(c: Context<HttpEnv>, { mcpPath }: DiscoveryOptions): Response {
  const { origin, hostname } = placeOf(c)
  return documentResponse('application/ai-catalog+json', {
    specVersion: '1.0',
    entries: [
      {
        identifier: `urn:air:${hostname}:${NAME}`,
        displayName: TITLE,
        description: DESCRIPTION,
        type: 'application/mcp-server-card+json',
        url: `${origin}${mcpPath}/server-card`,
      },
    ],
  })
}

const NAME = 'quartermaster'
const TITLE = 'Quartermaster'
const DESCRIPTION = 'Issues AI agents the tools they are allowed to have, in working order.'
const AUTHORIZATION = {
  name: 'Authorization',
  description: 'The token of an agent: "Bearer", a space, and what `quartermaster tokens create AGENT` printed.',
  isRequired: true,
  isSecret: true,
}

/**
 * Where the client reached us. `Host` has been checked; a proxy that ends TLS says so. An address is no name to be known
 * by elsewhere, so there the name is that of every machine for itself.
 */
function placeOf(c: Context<HttpEnv>): { origin: string; hostname: string } {
  const scheme = c.req.header('x-forwarded-proto') === 'https' ? 'https' : 'http'
  const { origin, hostname } = new URL(`${scheme}://${c.req.header('host') ?? 'localhost'}`)
  return { origin, hostname: /^[\d.]+$|^\[/.test(hostname) ? 'localhost' : hostname }
}

/** An hour: it changes with an update of this program. What it says depends on how it was reached. */
function documentResponse(type: string, document: object): Response {
  return new Response(JSON.stringify(document), {
    headers: { 'Content-Type': type, 'Cache-Control': 'public, max-age=3600', Vary: 'Host, X-Forwarded-Proto' },
  })
}
