import type { Context } from 'hono'
import { z } from 'zod'
import { API, type ApiRoute, ERRORS, type ErrorCode, type TokenScope } from '../../contracts/index.ts'
import { STATUS } from './errors.ts'
import type { HttpEnv } from './request.ts'

/** The errors of every request with a token. */
const COMMON_ERRORS: readonly ErrorCode[] = [
  'INPUT_INVALID',
  'TOKEN_INVALID',
  'REQUEST_REFUSED',
  'RATE_LIMITED',
  'INTERNAL',
  'STORE_UNAVAILABLE',
  'STORE_BUSY',
]

/** All errors of a route. */
export function errorsOf({ method, errors, body }: ApiRoute): readonly ErrorCode[] {
  // A lost read can simply be repeated.
  const ofWrites: readonly ErrorCode[] = method === 'GET' ? [] : ['OUTCOME_UNKNOWN']
  const ofBodies: readonly ErrorCode[] = body ? ['LIMIT_EXCEEDED'] : []
  return [...new Set([...COMMON_ERRORS, ...ofWrites, ...ofBodies, ...errors])]
}

/** The API as an OpenAPI 3.1 document, made from the table of its routes. */
export function openApiDocument({ version }: { version: string }) {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [operationId, route] of Object.entries(API))
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(operationId, route) }
  return {
    openapi: '3.1.0',
    info: { title: 'Quartermaster', version, description: DESCRIPTION },
    servers: [{ url: '/api/v1' }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Problem: schemaOf(Problem, 'output') },
    },
  }
}

const DESCRIPTION =
  'Organisations, their workspaces and persons. Errors are problem documents (RFC 9457). The control API of the data folder’s owner is described in the reference of HTTP.'

const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  code: z.string(),
  kind: z.string(),
  retry: z.string(),
  details: z.record(z.string(), z.unknown()).optional(),
})

function operationOf(operationId: string, route: ApiRoute) {
  const { summary, who, body, status = 200, scope, wire } = route
  const isOpen = who.includes('anyone')
  return {
    operationId,
    summary,
    description: audienceOf(who, scope),
    ...(isOpen && { security: [] }),
    parameters: [
      ...parametersIn('path', route.params),
      ...parametersIn('query', route.query),
      ...(wire === 'events' ? [LAST_EVENT_ID] : []),
    ],
    ...(body && {
      requestBody: { required: true, content: { 'application/json': { schema: schemaOf(body, 'input') } } },
    }),
    ...(wire === 'upload' && { requestBody: { required: true, content: AS_FILE } }),
    responses: {
      [status]: {
        description: status === 201 ? 'Made.' : 'Done.',
        content: contentOf(route),
      },
      ...problemsOf(route),
    },
  }
}

function contentOf({ wire, output }: ApiRoute): Record<string, unknown> {
  if (wire === 'download') return AS_FILE
  if (wire === 'markdown')
    return {
      'application/json': { schema: schemaOf(output, 'output') },
      'text/markdown': { schema: { type: 'string' } },
    }
  return { [wire === 'events' ? 'text/event-stream' : 'application/json']: { schema: schemaOf(output, 'output') } }
}

/** A file is described by its type alone (OpenAPI 3.1, "Considerations for File Uploads"). */
const AS_FILE = { 'application/octet-stream': {} }

const LAST_EVENT_ID = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'The id of the last event that a client had that comes back.',
  schema: { type: 'string' },
}

/** `For: the owner. Needs the scope "read" where a token is limited.` */
function audienceOf(who: ApiRoute['who'], scope: TokenScope | undefined): string {
  const audience = `For: ${who.join(', ')}.`
  return scope === undefined ? audience : `${audience} A limited token needs the scope "${scope}".`
}

function parametersIn(place: 'path' | 'query', schema: z.ZodObject) {
  const { properties = {}, required = [] } = schemaOf(schema, 'output')
  return Object.entries(properties as Record<string, { description?: string }>).map(
    ([name, { description, ...type }]) => ({
      name,
      in: place,
      required: place === 'path' || (required as readonly string[]).includes(name),
      ...(description !== undefined && { description }),
      schema: type,
    }),
  )
}

/** One response for each status, with its codes. */
function problemsOf(route: ApiRoute): Record<string, unknown> {
  const codes = new Map<number, ErrorCode[]>()
  for (const code of errorsOf(route)) {
    const status = STATUS[ERRORS[code].kind]
    codes.set(status, [...(codes.get(status) ?? []), code])
  }
  const described = [...codes].map(([status, names]) => [
    status,
    { description: names.join(', '), content: AS_PROBLEM },
  ])
  return { ...Object.fromEntries(described), ...refusalsOf(route) }
}

const AS_PROBLEM = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } }

/** Responses to a wrong method or content type, with the statuses of HTTP for them. */
function refusalsOf({ body }: ApiRoute): Record<string, unknown> {
  const methods = {
    description: 'REQUEST_REFUSED: the path has no such method.',
    headers: { Allow: { description: 'The methods that it has.', schema: { type: 'string' } } },
    content: AS_PROBLEM,
  }
  const types = { description: 'INPUT_INVALID: the body is not sent as application/json.', content: AS_PROBLEM }
  return { 405: methods, ...(body && { 415: types }) }
}

/** Further fields in answers stay allowed, because later versions may add some. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _dialect, ...described } = z.toJSONSchema(schema, {
    io,
    override({ jsonSchema }) {
      if (io === 'output') delete jsonSchema.additionalProperties
    },
  })
  return described
}

/** Public facts for registries and catalogues. They contain no agent and no tool. */
export interface DiscoveryOptions {
  /** Where MCP is served: `/mcp`. */
  mcpPath: `/${string}`
  /** The revisions of MCP that are spoken there. */
  protocolVersions: readonly string[]
  version: string
}

/** The server card (SEP-2127): where and how to connect, and that a token is needed. */
export function serverCard(c: Context<HttpEnv>, options: DiscoveryOptions): Response {
  const { origin, hostname } = publicAddress(c)
  return documentResponse('application/mcp-server-card+json', {
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    name: `${hostname.split('.').toReversed().join('.')}/${NAME}`,
    version: options.version,
    title: TITLE,
    description: API_DESCRIPTION,
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
  const { origin, hostname } = publicAddress(c)
  return documentResponse('application/ai-catalog+json', {
    specVersion: '1.0',
    entries: [
      {
        identifier: `urn:air:${hostname}:${NAME}`,
        displayName: TITLE,
        description: API_DESCRIPTION,
        type: 'application/mcp-server-card+json',
        url: `${origin}${mcpPath}/server-card`,
      },
    ],
  })
}

const NAME = 'quartermaster'
const TITLE = 'Quartermaster'
const API_DESCRIPTION = 'Issues AI agents the tools they are allowed to have, in working order.'
const AUTHORIZATION = {
  name: 'Authorization',
  description: 'The token of an agent: "Bearer", a space, and what `quartermaster tokens create AGENT` printed.',
  isRequired: true,
  isSecret: true,
}

/** The address by which the client reached us. `Host` was checked before. An IP address becomes `localhost`. */
function publicAddress(c: Context<HttpEnv>): { origin: string; hostname: string } {
  const scheme = c.req.header('x-forwarded-proto') === 'https' ? 'https' : 'http'
  const { origin, hostname } = new URL(`${scheme}://${c.req.header('host') ?? 'localhost'}`)
  return { origin, hostname: /^[\d.]+$|^\[/.test(hostname) ? 'localhost' : hostname }
}

/** Cached for an hour, because it changes only with an update of this program. */
function documentResponse(type: string, document: object): Response {
  return new Response(JSON.stringify(document), {
    headers: { 'Content-Type': type, 'Cache-Control': 'public, max-age=3600', Vary: 'Host, X-Forwarded-Proto' },
  })
}
