import {
  isInitializeRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { AppError } from '../../contracts/index.ts'
import type { Clock, Ids } from '../../core/kernel/index.ts'
import type { AgentTools } from './agent-tools.ts'
import { answerHeaders, type HeldAnswer } from './answer-stream.ts'
import type { DirectCall } from './direct-calls.ts'
import type { FrontLimits } from './http-streams.ts'
import { type CallSession, endCalls, type LegacyCalls } from './legacy-calls.ts'
import { type AuthenticatedAgent, authInfoOf, isObject } from './mcp-request.ts'

/** Sessions of legacy clients. Each belongs to the token that opened it. */
interface LegacySessions {
  serveOrdinary(call: DirectCall, agent: AuthenticatedAgent): Promise<HeldAnswer> | undefined
  handle(request: Request, agent: AuthenticatedAgent, body: unknown): Promise<HeldAnswer>
  end(tokenId: string): Promise<void>
  count(): number
  close(): Promise<void>
}

interface LegacySessionsDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly limits: Pick<FrontLimits, 'maxSessions'>
  agentToolsOf(agent: AuthenticatedAgent): AgentTools
  build(agentTools: AgentTools, hasStream: () => boolean): Promise<Server>
  /** Called when a client has opened its stream for notifications. */
  onListening(): void
  onEnded(session: LegacySession): Promise<void>
  /** The direct path for ordinary calls, if enabled. */
  readonly calls?: LegacyCalls | undefined
}

export function createLegacySessions({ clock, ids, limits, calls, ...deps }: LegacySessionsDeps): LegacySessions {
  const sessions = createOpenSessions({ clock, limits, onEnded: deps.onEnded })

  async function open(request: Request, agent: AuthenticatedAgent, body: unknown): Promise<HeldAnswer> {
    const release = sessions.reserve(agent)
    try {
      return { served: await initialise(request, agent, body), release() {} }
    } finally {
      release()
    }
  }

  async function initialise(request: Request, agent: AuthenticatedAgent, body: unknown): Promise<Response> {
    const agentTools = deps.agentToolsOf(agent)
    const listening = { streams: 0 }
    const server = await deps.build(agentTools, () => listening.streams > 0)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => ids.next('session'),
      onsessioninitialized: id =>
        sessions.add(newSession({ id, agent, agentTools, server, transport, listening, usedAt: clock.now() })),
      onsessionclosed: sessions.drop,
    })
    await server.connect(transport)
    return transport.handleRequest(request, { parsedBody: body, authInfo: authInfoOf(agent) })
  }

  async function handleIn(
    id: string,
    agent: AuthenticatedAgent,
    { request, body }: { request: Request; body: unknown },
  ): Promise<HeldAnswer> {
    const session = sessions.find(id, agent)
    if (!session) return refused(404, 'There is no such session. Initialise again.')
    const release = enterSession(session, clock, body)
    try {
      const served = await forwardToSdk(session, { request, body, calls })
      return { served, release: request.method === 'GET' && served.ok ? listens(session, release) : release }
    } catch (error) {
      release()
      throw error
    }
  }

  /** Marks the client as able to receive notifications while its stream is open. */
  function listens({ listening }: LegacySession, release: () => void): () => void {
    listening.streams++
    deps.onListening()
    return () => {
      listening.streams--
      release()
    }
  }

  return {
    serveOrdinary(call, agent) {
      const session = calls && sessions.find(call.headers.get('mcp-session-id'), agent)
      const answer = session && !session.setLogLevel ? calls?.serve(call, session) : undefined
      if (!session || !answer) return undefined
      const release = enterSession(session, clock)
      return answer.then(served => ({ served, release }))
    },
    async handle(request, agent, body) {
      const id = request.headers.get('mcp-session-id')
      if (id !== null) return handleIn(id, agent, { request, body })
      const opens = (Array.isArray(body) ? body : [body]).some(isInitializeRequest)
      return opens ? open(request, agent, body) : refused(400, 'A session is needed. Send "initialize" first.')
    },
    end: sessions.end,
    count: sessions.count,
    close: sessions.close,
  }
}

function refused(status: number, message: string): HeldAnswer {
  const error = { code: status === 404 ? -32001 : -32000, message }
  return { served: Response.json({ jsonrpc: '2.0', id: null, error }, { status }), release() {} }
}

interface LegacySession extends CallSession {
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly server: Server
  /** Open notification streams of the client: one, or none. */
  readonly listening: { streams: number }
  usedAt: number
  /** The client chose a log level. Only the SDK's server knows it, so calls no longer take the direct path. */
  setLogLevel: boolean
  /** Requests of a running batch: they share a stream, which cancelling one must not end. */
  readonly batched: Set<unknown>
  /** Running requests and streams. A session with any has a client, however long it has been silent. */
  open: number
}

type NewSession = Pick<LegacySession, 'id' | 'agent' | 'agentTools' | 'server' | 'transport' | 'listening' | 'usedAt'>

function newSession(made: NewSession): LegacySession {
  const headers = answerHeaders({ 'mcp-session-id': made.id })
  return { ...made, headers, running: new Map(), setLogLevel: false, batched: new Set(), open: 0 }
}

/** Marks the session as in use until the returned function is called. */
function enterSession(session: LegacySession, clock: Pick<Clock, 'now'>, body?: unknown): () => void {
  const together = batchedRequestIds(body)
  session.open++
  session.usedAt = clock.now()
  for (const id of together) session.batched.add(id)
  return () => {
    session.open--
    session.usedAt = clock.now()
    for (const id of together) session.batched.delete(id)
  }
}

/** The ids of the requests in a batch; none for a single request. */
function batchedRequestIds(body: unknown): unknown[] {
  const requests = messagesIn(body).filter(message => 'id' in message && 'method' in message)
  return requests.length > 1 ? requests.map(({ id }) => id) : []
}

function messagesIn(body: unknown): Record<string, unknown>[] {
  return (Array.isArray(body) ? body : [body]).filter(isObject)
}

/** Forwards a request to the SDK's server. */
async function forwardToSdk(
  session: LegacySession,
  { request, body, calls }: { request: Request; body: unknown; calls: LegacyCalls | undefined },
): Promise<Response> {
  const messages = messagesIn(body)
  if (messages.some(({ method }) => method === 'logging/setLevel')) session.setLogLevel = true
  const parsed = body === undefined ? {} : { parsedBody: body }
  const served = await session.transport.handleRequest(request, { ...parsed, authInfo: authInfoOf(session.agent) })
  // A message that the server rejected has no effect.
  if (!served.ok) return served
  for (const message of messages) {
    // The SDK's server does not know the calls of the direct path.
    calls?.handleNotification(message, session)
    closeCancelled(message, session)
  }
  return served
}

/** The SDK does not answer cancelled requests, but leaves their stream open. */
function closeCancelled({ method, params }: Record<string, unknown>, { transport, batched }: LegacySession): void {
  if (method !== 'notifications/cancelled' || !isObject(params) || batched.has(params.requestId)) return
  const { requestId } = params
  if (typeof requestId === 'string' || typeof requestId === 'number') transport.closeSSEStream(requestId)
}

const IDLE_MS = 30 * 60_000

type OpenSessionsDeps = Pick<LegacySessionsDeps, 'clock' | 'limits' | 'onEnded'>

/** The open sessions. Legacy clients seldom end them, so idle ones expire. */
function createOpenSessions({ clock, limits: { maxSessions }, onEnded }: OpenSessionsDeps) {
  const sessions = new Map<string, LegacySession>()
  /** Sessions being opened count too, or many concurrent ones would all find room. */
  const reserved = new Set<{ readonly tokenId: string }>()
  let cancelReaper = clock.after(IDLE_MS / 2, reap)

  /** Closes a session and cancels its calls. */
  async function drop(id: string): Promise<void> {
    const session = sessions.get(id)
    sessions.delete(id)
    if (!session) return
    endCalls(session)
    await session.server.close()
    await onEnded(session)
  }

  function reap(): void {
    const isDead = ({ open, usedAt }: LegacySession) => open === 0 && clock.now() - usedAt > IDLE_MS
    for (const { id } of [...sessions.values()].filter(isDead)) void drop(id)
    cancelReaper = clock.after(IDLE_MS / 2, reap)
  }

  const ownOf = (tokenId: string) => [...sessions.values()].filter(({ agent }) => agent.tokenId === tokenId)

  /** Closes the token's least recently used idle session at the limit. */
  function makeRoom(tokenId: string): void {
    const own = ownOf(tokenId)
    const opening = [...reserved].filter(one => one.tokenId === tokenId)
    if (own.length + opening.length < maxSessions) return
    const [oldest] = own.filter(({ open }) => open === 0).toSorted((a, b) => a.usedAt - b.usedAt)
    if (!oldest) throw tooMany(maxSessions)
    void drop(oldest.id)
  }

  return {
    /** Reserves room for a session that is being opened; returns the release. Throws `RATE_LIMITED` at the limit. */
    reserve({ tokenId }: AuthenticatedAgent) {
      makeRoom(tokenId)
      const reservation = { tokenId }
      reserved.add(reservation)
      return () => void reserved.delete(reservation)
    },
    add: (session: LegacySession) => void sessions.set(session.id, session),
    /** A session of another token is not found. */
    find(id: string | null, { tokenId }: AuthenticatedAgent) {
      const session = id === null ? undefined : sessions.get(id)
      return session?.agent.tokenId === tokenId ? session : undefined
    },
    drop,
    end: async (tokenId: string) => void (await Promise.all(ownOf(tokenId).map(({ id }) => drop(id)))),
    count: () => sessions.size,
    async close() {
      cancelReaper()
      await Promise.all([...sessions.keys()].map(drop))
    },
  }
}

function tooMany(limit: number): AppError {
  const message = `This token has ${limit} sessions in use already. Close some.`
  return new AppError('RATE_LIMITED', message, { details: { limit } })
}
