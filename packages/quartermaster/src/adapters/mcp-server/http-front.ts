import {
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
  readRequestBody,
  type Server,
} from '@modelcontextprotocol/server'
import { AppError, toAppError } from '../../contracts/index.ts'
import type { Agents, Seat } from '../../core/agents/index.ts'
import type { Clock, Ids, Log } from '../../core/kernel/index.ts'
import { problem } from './http-problem.ts'
import { withAnnouncements } from './in-process-server.ts'
import { createLegacySessions } from './legacy-sessions.ts'
import { createOpenStreams } from './open-streams.ts'
import { buildServer, type ServerParts } from './server.ts'
import type { Who } from './who.ts'

/** Larger requests are no tool calls. */
const MAX_BODY_BYTES = 4 * 1024 * 1024

export interface HttpFrontDeps extends ServerParts {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  follow: Agents['follow']
  /** Who a bearer token belongs to, if it is one. */
  authenticate(token: string): Who | undefined
}

/** The one MCP endpoint, for clients of both eras. The token decides the agent, and so what exists. */
export interface HttpFront {
  handle(request: Request): Promise<Response>
  /** Ends what a token has open: it was revoked. */
  end(tokenId: string): Promise<void>
  counts(): { sessions: number; streams: number }
  close(): Promise<void>
}

export function createHttpFront(deps: HttpFrontDeps): HttpFront {
  const { clock, ids, follow, authenticate } = deps
  const streams = createOpenStreams()
  const shelfOf = (seat: Seat) => ({ name: seat.caller.name, seat })
  const build = ({ seat }: Who): Server => withAnnouncements(buildServer(shelfOf(seat), deps), shelfOf(seat), follow)
  const sessions = createLegacySessions({ clock, ids, build })
  const modern = createModernHandlers(deps)

  async function serve(request: Request, who: Who): Promise<Response> {
    if (request.method !== 'POST') return sessions.handle(request, who, undefined)
    const body = await parseBody(request)
    if (body instanceof Response) return body
    if (await isLegacyRequest(request, body)) return sessions.handle(request, who, body)
    return modern
      .handlerOf(who.seat)
      .fetch(request, { parsedBody: body, authInfo: { token: '', clientId: who.tokenId, scopes: [] } })
  }

  return {
    async handle(request) {
      const who = callerOf(request, authenticate)
      if (!who) return UNAUTHORIZED()
      try {
        return streams.follow(who.tokenId, await serve(request, who))
      } catch (error) {
        const failure = toAppError(error)
        if (failure.code === 'INTERNAL') deps.log.error('an MCP request failed', { error: failure.message })
        return failure.code === 'LIMIT_EXCEEDED'
          ? problem(failure, 429)
          : problem(new AppError('INTERNAL', 'Something went wrong inside.'), 500)
      }
    },
    async end(tokenId) {
      streams.end(tokenId)
      await sessions.end(tokenId)
    },
    counts: () => ({ sessions: sessions.count(), streams: streams.count() }),
    async close() {
      streams.close()
      await Promise.all([sessions.close(), modern.close()])
    },
  }
}

function callerOf(request: Request, authenticate: HttpFrontDeps['authenticate']): Who | undefined {
  const match = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(request.headers.get('authorization') ?? '')
  return match?.[1] === undefined ? undefined : authenticate(match[1])
}

const UNAUTHORIZED = () =>
  problem(
    new AppError(
      'TOKEN_INVALID',
      'A valid token is needed: "Authorization: Bearer …". Make one with `quartermaster tokens create AGENT`.',
    ),
    401,
    { 'www-authenticate': 'Bearer realm="quartermaster"' },
  )

async function parseBody(request: Request): Promise<unknown> {
  const read = await readRequestBody(request, MAX_BODY_BYTES)
  if (read.tooLarge)
    return problem(new AppError('LIMIT_EXCEEDED', `A request has at most ${MAX_BODY_BYTES} bytes.`), 413)
  try {
    return JSON.parse(read.text)
  } catch {
    return Response.json({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } }, { status: 400 })
  }
}

/** One handler per agent: a handler tells all its streams alike, and agents must not hear of each other's changes. */
function createModernHandlers(deps: HttpFrontDeps) {
  const handlers = new Map<Seat, { handler: McpHttpHandler; unfollow: () => void }>()
  const make = (seat: Seat) => {
    const handler = createMcpHandler(() => buildServer({ name: seat.caller.name, seat }, deps), {
      legacy: 'reject',
      maxRequestBodySize: MAX_BODY_BYTES,
      onerror: error => deps.log.debug('an MCP exchange failed', { error: error.message }),
    })
    const unfollow = deps.follow(seat, () => {
      handler.notify.toolsChanged()
      handler.notify.resourcesChanged()
    })
    return { handler, unfollow }
  }
  return {
    handlerOf(seat: Seat): McpHttpHandler {
      const entry = handlers.get(seat) ?? make(seat)
      handlers.set(seat, entry)
      return entry.handler
    },
    async close() {
      for (const { unfollow } of handlers.values()) unfollow()
      await Promise.all([...handlers.values()].map(({ handler }) => handler.close()))
    },
  }
}
