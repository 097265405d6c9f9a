import {
  isInitializeRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { AppError } from '../../contracts/index.ts'
import type { Clock, Ids } from '../../core/kernel/index.ts'
import type { FrontLimits } from './front-limits.ts'
import type { Who } from './who.ts'

/** A session nobody has used for this long is closed: clients of that era seldom say goodbye. */
const IDLE_MS = 30 * 60_000
/** One that was used a moment ago has a client; one that was not may have lost its own. */
const RECENT_MS = 5 * 60_000

/** Sessions of clients from before 2026-07-28. Each belongs to the token that opened it. */
export interface LegacySessions {
  handle(request: Request, who: Who, body: unknown): Promise<Response>
  /** Closes the sessions of a token. */
  end(tokenId: string): Promise<void>
  count(): number
  close(): Promise<void>
}

interface Session {
  readonly tokenId: string
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly server: Server
  usedAt: number
}

export interface LegacySessionsDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly limits: Pick<FrontLimits, 'maxSessions'>
  build(who: Who): Server
}

export function createLegacySessions({ clock, ids, build, limits }: LegacySessionsDeps): LegacySessions {
  const sessions = new Map<string, Session>()
  let cancelReaper = clock.after(IDLE_MS / 2, reap)

  async function drop(id: string): Promise<void> {
    const session = sessions.get(id)
    sessions.delete(id)
    await session?.server.close()
  }

  function reap(): void {
    const dead = [...sessions].filter(([, session]) => clock.now() - session.usedAt > IDLE_MS)
    for (const [id] of dead) void drop(id)
    cancelReaper = clock.after(IDLE_MS / 2, reap)
  }

  /** Clients of that era seldom say goodbye, so the session that was not used for the longest makes room for a new one. */
  function makeRoom({ tokenId }: Who): void {
    const own = [...sessions].filter(([, session]) => session.tokenId === tokenId)
    if (own.length < limits.maxSessions) return
    const [oldest] = own.toSorted(([, a], [, b]) => a.usedAt - b.usedAt)
    if (!oldest || clock.now() - oldest[1].usedAt < RECENT_MS) {
      throw new AppError('RATE_LIMITED', `This token has ${limits.maxSessions} sessions in use already. Close some.`, {
        details: { limit: limits.maxSessions },
      })
    }
    void drop(oldest[0])
  }

  async function open(request: Request, who: Who, body: unknown): Promise<Response> {
    makeRoom(who)
    const server = build(who)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => ids.next('session'),
      onsessioninitialized: id => {
        sessions.set(id, { tokenId: who.tokenId, transport, server, usedAt: clock.now() })
      },
      onsessionclosed: id => drop(id),
    })
    await server.connect(transport)
    return transport.handleRequest(request, { parsedBody: body })
  }

  return {
    async handle(request, who, body) {
      const id = request.headers.get('mcp-session-id')
      if (id === null) {
        const opens = (Array.isArray(body) ? body : [body]).some(isInitializeRequest)
        return opens ? open(request, who, body) : sessionProblem(400, 'A session is needed. Send "initialize" first.')
      }
      const session = sessions.get(id)
      // A session of another token is answered as one that never was.
      if (session?.tokenId !== who.tokenId) return sessionProblem(404, 'There is no such session. Initialise again.')
      session.usedAt = clock.now()
      return session.transport.handleRequest(request, body === undefined ? {} : { parsedBody: body })
    },
    async end(tokenId) {
      const own = [...sessions].filter(([, session]) => session.tokenId === tokenId)
      await Promise.all(own.map(([id]) => drop(id)))
    },
    count: () => sessions.size,
    async close() {
      cancelReaper()
      await Promise.all([...sessions.keys()].map(drop))
    },
  }
}

function sessionProblem(status: number, message: string): Response {
  return Response.json(
    { jsonrpc: '2.0', id: null, error: { code: status === 404 ? -32001 : -32000, message } },
    { status },
  )
}
