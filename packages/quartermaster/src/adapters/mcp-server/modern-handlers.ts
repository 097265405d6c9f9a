import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server'
import type { Settings } from '../../contracts/index.ts'
import type { AgentSession, Agents } from '../../core/agents/index.ts'
import type { Tool } from '../../core/catalogue/index.ts'
import {
  callerKey,
  type Log,
  type MirroredParameter,
  mirroredParameters,
  mirroredText,
} from '../../core/kernel/index.ts'
import { type AgentTools, findTool } from './agent-tools.ts'
import type { HeldAnswer, Served } from './answer-stream.ts'
import { createDirectCalls, type DirectCall } from './direct-calls.ts'
import { type AuthenticatedAgent, authInfoOf, type HeaderReader } from './mcp-request.ts'
import { buildServer } from './server.ts'
import type { ServerParts } from './server-parts.ts'
import { createListNotifier, createSubscriptions, type Subscriptions } from './subscriptions.ts'

interface ModernHandlersDeps extends ServerParts {
  readonly log: Log
  readonly maxBodyBytes: number
  readonly settings: Pick<Settings, 'directCalls'>
  follow: Agents['follow']
}

/** Serves modern clients: every request is self-contained. */
interface ModernHandlers {
  /** The answer to an ordinary call, or `undefined` when the SDK has to handle it. */
  serveOrdinary(call: DirectCall, agent: AuthenticatedAgent): Promise<Served> | undefined
  handle(request: Request, agent: AuthenticatedAgent, body: unknown): Promise<HeldAnswer>
  close(): Promise<void>
}

interface AgentHandler {
  readonly session: AgentSession
  readonly agentTools: AgentTools
  readonly handler: McpHttpHandler
  /** Watches the resources of one stream; returns the stop function. */
  watch(uris: readonly string[]): () => void
  close(): Promise<void>
}

export function createModernHandlers(deps: ModernHandlersDeps): ModernHandlers {
  // One handler per agent: a handler notifies all its streams alike, and agents must not learn of each other's changes.
  const handlers = new Map<string, AgentHandler>()
  const direct = deps.settings.directCalls ? createDirectCalls(deps) : undefined

  function handlerOf(session: AgentSession): AgentHandler {
    // Agents of two organisations may have the same name.
    const key = callerKey(session.caller)
    const known = handlers.get(key)
    if (known?.session === session) return known
    // An agent that was removed and added again has a new session; the old streams are closed.
    void known?.close()
    const made = createAgentHandler(session, deps)
    handlers.set(key, made)
    return made
  }

  return {
    serveOrdinary(call, { session, tokenId }) {
      const { agentTools } = handlerOf(session)
      if (mismatchIn(call, agentTools)) return undefined
      return direct?.serve(call, agentTools, tokenId)
    },
    async handle(request, agent, body) {
      const { agentTools, handler, watch } = handlerOf(agent.session)
      const mismatch = mismatchIn({ headers: request.headers, body }, agentTools)
      if (mismatch) return { served: mismatch, release() {} }
      // Without sessions, a discovery request is what begins a conversation.
      const instructions = isDiscovery(body) ? await deps.instructionsFor?.(agent.session) : undefined
      const authInfo = { ...authInfoOf(agent), ...(instructions !== undefined && { extra: { instructions } }) }
      const served = await handler.fetch(request, { parsedBody: body, authInfo })
      // Only an opened stream receives notifications.
      return { served, release: served.ok ? watch(watchedUris(body)) : () => {} }
    },
    async close() {
      await Promise.all([...handlers.values()].map(one => one.close()))
    },
  }
}

function createAgentHandler(session: AgentSession, deps: ModernHandlersDeps): AgentHandler {
  const agentTools: AgentTools = { name: session.caller.name, session }
  const handler = createMcpHandler(({ authInfo }) => buildServer(agentTools, deps, instructionsIn(authInfo?.extra)), {
    legacy: 'reject',
    maxRequestBodySize: deps.maxBodyBytes,
    onerror: error => deps.log.debug('an MCP exchange failed', { error: error.message }),
  })
  const watching = new Set<Subscriptions>()
  // One function for all streams: the handler notifies each stream that lists an address once.
  const onUpdated = (uri: string) => handler.notify.resourceUpdated(uri)
  const tell = createListNotifier(agentTools, handler.notify)
  const unfollow = deps.follow(session, change => {
    tell(change)
    const changed = new Set([...watching].flatMap(subscriptions => subscriptions.changed()))
    for (const uri of changed) onUpdated(uri)
  })
  return {
    session,
    agentTools,
    handler,
    watch(uris) {
      if (uris.length === 0) return () => {}
      const subscriptions = createSubscriptions(agentTools, {
        watches: deps.watches,
        operationNotifications: deps.operationNotifications,
        onUpdated,
      })
      for (const uri of uris) subscriptions.add(uri)
      watching.add(subscriptions)
      return () => {
        watching.delete(subscriptions)
        subscriptions.close()
      }
    },
    close() {
      unfollow()
      for (const subscriptions of watching) subscriptions.close()
      watching.clear()
      return handler.close()
    },
  }
}

type Message = { method?: unknown; id?: unknown; params?: Record<string, unknown> } | null

const isDiscovery = (body: unknown) => (body as Message)?.method === 'server/discover'

function instructionsIn(extra: Record<string, unknown> | undefined): string | undefined {
  return typeof extra?.instructions === 'string' ? extra.instructions : undefined
}

/** The resources a client subscribes to with `subscriptions/listen`. */
function watchedUris(body: unknown): string[] {
  const { method, params } = (body as Message) ?? {}
  if (method !== 'subscriptions/listen') return []
  const wanted = (params?.notifications as { resourceSubscriptions?: unknown } | undefined)?.resourceSubscriptions
  return Array.isArray(wanted) ? wanted.filter(uri => typeof uri === 'string') : []
}

/** Rejects a request whose headers do not agree with its body, including arguments mirrored in headers. */
function mismatchIn(
  { headers, body }: Pick<DirectCall, 'headers' | 'body'>,
  agentTools: AgentTools,
): Response | undefined {
  const { method, id, params } = (body as Message) ?? {}
  const grant =
    method === 'tools/call' && typeof params?.name === 'string' ? findTool(agentTools, params.name) : undefined
  const mismatch = grant && findMismatch(grant.tool, params?.arguments, headers)
  if (!mismatch) return undefined
  const message = `Header and body do not agree: ${mismatch.body} (${mismatch.header}).`
  const error = { code: HEADER_MISMATCH, message, data: { mismatch } }
  return Response.json({ jsonrpc: '2.0', id: id ?? null, error }, { status: 400 })
}

/** Error code of MCP 2026-07-28. */
const HEADER_MISMATCH = -32020

interface HeaderMismatch {
  readonly header: string
  readonly body: string
}

const mirrored = new WeakMap<Tool, readonly MirroredParameter[]>()

/** The first header that differs from the arguments (MCP 2026-07-28, "Custom Headers from Tool Parameters"). */
function findMismatch(tool: Tool, input: unknown, headers: HeaderReader): HeaderMismatch | undefined {
  for (const parameter of parametersOf(tool)) {
    const text = mirroredText(parameter, input)
    // Absent and non-primitive arguments are not mirrored.
    if (text === undefined) continue
    const given = headers.get(headerOf(parameter))
    if (given === null) return mismatch(parameter, 'carries a value and the header is absent')
    const decoded = decode(given)
    if (decoded === undefined) return mismatch(parameter, 'carries a value and the header is no valid Base64')
    const isEqual = parameter.isNumber && NUMBER.test(decoded) ? Number(decoded) === Number(text) : decoded === text
    if (!isEqual) return mismatch(parameter, 'carries another value than the header')
  }
  return undefined
}

function parametersOf(tool: Tool): readonly MirroredParameter[] {
  const known = mirrored.get(tool)
  if (known) return known
  const found = mirroredParameters(tool.inputSchema)
  mirrored.set(tool, found)
  return found
}

function headerOf({ header }: MirroredParameter): string {
  return `Mcp-Param-${header}`
}

const NUMBER = /^-?\d+(\.\d+)?$/
const BASE64 = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Decodes a header value. Text that a header cannot hold is Base64 between `=?base64?` and `?=`. */
function decode(value: string): string | undefined {
  if (!(value.startsWith('=?base64?') && value.endsWith('?='))) return value
  const encoded = BASE64.exec(value)?.[1]
  if (encoded === undefined) return undefined
  try {
    return utf8.decode(Uint8Array.from(atob(encoded), character => character.charCodeAt(0)))
  } catch {
    // Invalid UTF-8 cannot equal an argument.
    return undefined
  }
}

function mismatch(parameter: MirroredParameter, what: string): HeaderMismatch {
  return { header: headerOf(parameter), body: `params.arguments.${parameter.path.join('.')} ${what}` }
}
