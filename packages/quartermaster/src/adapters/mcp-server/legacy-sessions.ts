import {
  isInitializeRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { AppError } from '../../contracts/index.ts'
import type { Clock, Ids } from '../../core/kernel/index.ts'
import type { HeldAnswer } from './answer-stream.ts'
import type { FrontLimits } from './front-limits.ts'
import { authInfoOf, type Who } from './who.ts'

/** A session nobody has used for this long is closed: clients of that era seldom say goodbye. */
const IDLE_MS = 30 * 60_000

/** Sessions of clients from before 2026-07-28. Each belongs to the token that opened it. */
export interface LegacySessions {
  handle(request: Request, who: Who, body: unknown): Promise<HeldAnswer>
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
  /** Requests and streams under way: such a session has a client, however long it has been silent. */
  open: number
}

export interface LegacySessionsDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly limits: Pick<FrontLimits, 'maxSessions'>
  build(who: Who): Server
}

export function createLegacySessions({ clock, ids, build, limits }: LegacySessionsDeps): LegacySessions {
  const sessions = new Map<string, Session>()
  const opening = new Map<string, number>()
  let cancelReaper = clock.after(IDLE_MS / 2, reap)

  function enter(session: Session): () => void {
    session.open++
    session.usedAt = clock.now()
    return () => {
      session.open--
      session.usedAt = clock.now()
    }
  }

  async function drop(id: string): Promise<void> {
    const session = sessions.get(id)
    sessions.delete(id)
    await session?.server.close()
  }

  function reap(): void {
    const dead = [...sessions].filter(([, session]) => session.open === 0 && clock.now() - session.usedAt > IDLE_MS)
    for (const [id] of dead) void drop(id)
    cancelReaper = clock.after(IDLE_MS / 2, reap)
  }

  /** Clients of that era seldom say goodbye, so the session that was not used for the longest makes room for a new one. */
  function makeRoom({ tokenId }: Who): void {
    const own = [...sessions].filter(([, session]) => session.tokenId === tokenId)
    if (own.length + (opening.get(tokenId) ?? 0) < limits.maxSessions) return
    const unused = own.filter(([, session]) => session.open === 0)
    const [oldest] = unused.toSorted(([, a], [, b]) => a.usedAt - b.usedAt)
    if (!oldest) {
      throw new AppError('RATE_LIMITED', `This token has ${limits.maxSessions} sessions in use already. Close some.`, {
        details: { limit: limits.maxSessions },
      })
    }
    void drop(oldest[0])
  }

  /** One that is being opened has its place already, or many at once would all find room. */
  async function open(request: Request, who: Who, body: unknown): Promise<HeldAnswer> {
    makeRoom(who)
    opening.set(who.tokenId, (opening.get(who.tokenId) ?? 0) + 1)
    try {
      return { served: await initialise(request, who, body), release() {} }
    } finally {
      const left = (opening.get(who.tokenId) ?? 1) - 1
      if (left === 0) opening.delete(who.tokenId)
      else opening.set(who.tokenId, left)
    }
  }

  async function initialise(request: Request, who: Who, body: unknown): Promise<Response> {
    const server = build(who)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => ids.next('session'),
      onsessioninitialized: id => {
        sessions.set(id, { tokenId: who.tokenId, transport, server, usedAt: clock.now(), open: 0 })
      },
      onsessionclosed: id => drop(id),
    })
    await server.connect(transport)
    return transport.handleRequest(request, { parsedBody: body, authInfo: authInfoOf(who) })
  }

  return {
    async handle(request, who, body) {
      const id = request.headers.get('mcp-session-id')
      if (id === null) {
        const opens = (Array.isArray(body) ? body : [body]).some(isInitializeRequest)
        return opens ? open(request, who, body) : refused(400, 'A session is needed. Send "initialize" first.')
      }
      const session = sessions.get(id)
      // A session of another token is answered as one that never was.
      if (session?.tokenId !== who.tokenId) return refused(404, 'There is no such session. Initialise again.')
      const release = enter(session)
      try {
        const parsed = body === undefined ? {} : { parsedBody: body }
        return {
          served: await session.transport.handleRequest(request, { ...parsed, authInfo: authInfoOf(who) }),
          release,
        }
      } catch (error) {
        release()
        throw error
      }
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

function refused(status: number, message: string): HeldAnswer {
  const error = { code: status === 404 ? -32001 : -32000, message }
  return { served: Response.json({ jsonrpc: '2.0', id: null, error }, { status }), release() {} }
}
