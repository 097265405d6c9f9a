import { isLegacyRequest, type Server } from '@modelcontextprotocol/server'
import { AppError, type Settings } from '../../contracts/index.ts'
import type { Agents, Seat } from '../../core/agents/index.ts'
import { type CancelSignal, type Clock, createInFlight, type Ids, type Log } from '../../core/kernel/index.ts'
import { withAnnouncements } from './announcements.ts'
import type { Served } from './answer-stream.ts'
import { FRONT_LIMITS, type FrontLimits } from './front-limits.ts'
import { failureResponse, problem } from './http-problem.ts'
import { createLegacySessions } from './legacy-sessions.ts'
import { createModernHandlers } from './modern-handlers.ts'
import { createOpenStreams } from './open-streams.ts'
import { readMessage } from './request-message.ts'
import { buildServer } from './server.ts'
import type { ServerParts } from './server-parts.ts'
import type { Who } from './who.ts'

export interface HttpFrontDeps extends ServerParts {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly settings: Pick<Settings, 'directCalls'>
  follow: Agents['follow']
  /** Who a bearer token belongs to, if it is one. */
  authenticate(token: string): Who | undefined
  readonly limits?: Partial<FrontLimits>
}

/** The one MCP endpoint, for clients of both eras. The token decides the agent, and so what exists. */
export interface HttpFront {
  handle(request: Request): Promise<Response>
  /** The same, for a server that can write a short answer without making a `Response` of it, and knows when its client is gone. */
  answer(request: Request, gone?: CancelSignal): Promise<Served>
  /** Ends what a token has open: it was revoked. */
  end(tokenId: string): Promise<void>
  counts(): { sessions: number; streams: number; requests: number }
  close(): Promise<void>
}

export function createHttpFront(deps: HttpFrontDeps): HttpFront {
  const { clock, ids, log, follow, authenticate } = deps
  const limits = { ...FRONT_LIMITS, ...deps.limits }
  const onCut = (tokenId: string) => log.warn('A client that did not read was cut off.', { tokenId })
  const streams = createOpenStreams({ limits, onCut })
  const inFlight = createInFlight({ most: limits.maxInFlight, what: 'requests under way' })
  const shelfOf = (seat: Seat) => ({ name: seat.caller.name, seat })
  const build = ({ seat }: Who): Server => withAnnouncements(buildServer(shelfOf(seat), deps), shelfOf(seat), follow)
  const sessions = createLegacySessions({ clock, ids, build, limits })
  const modern = createModernHandlers({ ...deps, maxBodyBytes: limits.maxBodyBytes })

  async function serve(request: Request, who: Who, gone: CancelSignal | undefined): Promise<Served> {
    if (request.method !== 'POST') return sessions.handle(request, who, undefined)
    const body = await readMessage(request, limits)
    const ordinary = modern.serveOrdinary(request, who, { body, gone })
    if (ordinary) return ordinary
    const isLegacy = await isLegacyRequest(request, body)
    return (isLegacy ? sessions : modern).handle(request, who, body)
  }

  async function answer(request: Request, gone?: CancelSignal): Promise<Served> {
    const who = callerOf(request, authenticate)
    if (!who) return UNAUTHORIZED()
    let leave = () => {}
    try {
      leave = inFlight.enter(who.tokenId)
      streams.refuseMore(who.tokenId)
      const served = await serve(request, who, gone)
      if (isStream(served)) return streams.follow(who.tokenId, served, leave)
      leave()
      return served
    } catch (error) {
      leave()
      return failureResponse(error, failure => log.error('an MCP request failed', { error: failure.message }))
    }
  }

  return {
    answer,
    async handle(request) {
      const served = await answer(request)
      return served instanceof Response ? served : new Response(served.text, served)
    },
    async end(tokenId) {
      deps.exchanges.end(tokenId)
      streams.end(tokenId)
      await sessions.end(tokenId)
    },
    counts: () => ({ sessions: sessions.count(), streams: streams.count(), requests: inFlight.count() }),
    async close() {
      streams.close()
      await Promise.all([sessions.close(), modern.close()])
    },
  }
}

function isStream(served: Served): served is Response {
  return served instanceof Response && (served.headers.get('content-type')?.startsWith('text/event-stream') ?? false)
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
