import {
  isInitializeRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { AppError } from '../../contracts/index.ts'
import type { Clock, Ids } from '../../core/kernel/index.ts'
import { answerHeaders, type HeldAnswer } from './answer-stream.ts'
import type { DirectCall } from './direct-calls.ts'
import type { FrontLimits } from './front-limits.ts'
import { type CallSession, endCalls, type LegacyCalls } from './legacy-calls.ts'
import { isObject } from './ordinary-message.ts'
import type { Shelf } from './shelf.ts'
import { authInfoOf, type Who } from './who.ts'

/** A session nobody has used for this long is closed: clients of that era seldom say goodbye. */
const IDLE_MS = 30 * 60_000

/** Sessions of clients from before 2026-07-28. Each belongs to the token that opened it. */
export interface LegacySessions {
  /** The answer to an ordinary call, or nothing when it is not one. */
  serveOrdinary(call: Omit<DirectCall, 'holder'>, who: Who): Promise<HeldAnswer> | undefined
  handle(request: Request, who: Who, body: unknown): Promise<HeldAnswer>
  /** Closes the sessions of a token. */
  end(tokenId: string): Promise<void>
  count(): number
  close(): Promise<void>
}

interface Session extends CallSession {
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly server: Server
  usedAt: number
  /** Its client said which logs it wants; the server that was told so knows which. */
  choseLogs: boolean
  /** Requests of a batch share a stream, and one of them must not end it for the others. */
  hasBatches: boolean
  /** Requests and streams under way: such a session has a client, however long it has been silent. */
  open: number
}

export interface LegacySessionsDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly limits: Pick<FrontLimits, 'maxSessions'>
  shelfOf(who: Who): Shelf
  build(shelf: Shelf): Server
  /** Our own way for ordinary calls, if it is to be taken. */
  readonly calls?: LegacyCalls | undefined
}

export function createLegacySessions({ clock, ids, limits, calls, ...deps }: LegacySessionsDeps): LegacySessions {
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
    if (session) endCalls(session)
    await session?.server.close()
  }

  function reap(): void {
    const dead = [...sessions].filter(([, session]) => session.open === 0 && clock.now() - session.usedAt > IDLE_MS)
    for (const [id] of dead) void drop(id)
    cancelReaper = clock.after(IDLE_MS / 2, reap)
  }

  /** Clients of that era seldom say goodbye, so the session that was not used for the longest makes room for a new one. */
  function makeRoom({ tokenId }: Who): void {
    const own = [...sessions].filter(([, session]) => session.who.tokenId === tokenId)
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
    const shelf = deps.shelfOf(who)
    const server = deps.build(shelf)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => ids.next('session'),
      onsessioninitialized: id => {
        sessions.set(id, newSession({ id, who, shelf, server, transport, usedAt: clock.now() }))
      },
      onsessionclosed: id => drop(id),
    })
    await server.connect(transport)
    return transport.handleRequest(request, { parsedBody: body, authInfo: authInfoOf(who) })
  }

  /** A session of another token is as one that never was. */
  function find(id: string | null, { tokenId }: Who): Session | undefined {
    const session = id === null ? undefined : sessions.get(id)
    return session?.who.tokenId === tokenId ? session : undefined
  }

  async function pass(session: Session, request: Request, body: unknown): Promise<Response> {
    const messages = (Array.isArray(body) ? body : [body]).filter(isObject)
    if (messages.some(({ method }) => method === 'logging/setLevel')) session.choseLogs = true
    if (messages.length > 1) session.hasBatches = true
    const parsed = body === undefined ? {} : { parsedBody: body }
    const served = await session.transport.handleRequest(request, { ...parsed, authInfo: authInfoOf(session.who) })
    // The server cannot know of calls that went past it. What it refused to read was not said.
    if (served.ok) for (const message of messages) calls?.hear(message, session)
    const [only] = messages
    if (served.ok && only && !session.hasBatches) closeCancelled(only, session)
    return served
  }

  return {
    serveOrdinary(call, who) {
      const session = calls && find(call.headers.get('mcp-session-id'), who)
      const answer = session && !session.choseLogs ? calls?.serve(call, session) : undefined
      if (!session || !answer) return undefined
      const release = enter(session)
      return answer.then(served => ({ served, release }))
    },
    async handle(request, who, body) {
      const id = request.headers.get('mcp-session-id')
      if (id === null) {
        const opens = (Array.isArray(body) ? body : [body]).some(isInitializeRequest)
        return opens ? open(request, who, body) : refused(400, 'A session is needed. Send "initialize" first.')
      }
      const session = find(id, who)
      if (!session) return refused(404, 'There is no such session. Initialise again.')
      const release = enter(session)
      try {
        return { served: await pass(session, request, body), release }
      } catch (error) {
        release()
        throw error
      }
    },
    async end(tokenId) {
      const own = [...sessions].filter(([, session]) => session.who.tokenId === tokenId)
      await Promise.all(own.map(([id]) => drop(id)))
    },
    count: () => sessions.size,
    async close() {
      cancelReaper()
      await Promise.all([...sessions.keys()].map(drop))
    },
  }
}

type NewSession = Pick<Session, 'id' | 'who' | 'shelf' | 'server' | 'transport' | 'usedAt'>

function newSession(made: NewSession): Session {
  const headers = answerHeaders({ 'mcp-session-id': made.id })
  return { ...made, headers, running: new Map(), choseLogs: false, hasBatches: false, open: 0 }
}

function refused(status: number, message: string): HeldAnswer {
  const error = { code: status === 404 ? -32001 : -32000, message }
  return { served: Response.json({ jsonrpc: '2.0', id: null, error }, { status }), release() {} }
}

/** The SDK answers nothing that was cancelled, and leaves its stream open. */
function closeCancelled({ method, params }: Record<string, unknown>, { transport }: Session): void {
  if (method !== 'notifications/cancelled' || !isObject(params)) return
  const { requestId } = params
  if (typeof requestId === 'string' || typeof requestId === 'number') transport.closeSSEStream(requestId)
}
