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

/** Sessions of clients from before 2026-07-28. Each belongs to the token that opened it. */
interface LegacySessions {
  /** The answer to an ordinary call, or nothing when it is not one. */
  serveOrdinary(call: DirectCall, who: AuthenticatedAgent): Promise<HeldAnswer> | undefined
  handle(request: Request, who: AuthenticatedAgent, body: unknown): Promise<HeldAnswer>
  /** Closes the sessions of a token. */
  end(tokenId: string): Promise<void>
  count(): number
  close(): Promise<void>
}

interface LegacySessionsDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly limits: Pick<FrontLimits, 'maxSessions'>
  agentToolsOf(who: AuthenticatedAgent): AgentTools
  build(agentTools: AgentTools, canHear: () => boolean): Promise<Server>
  /** Told when a client has opened the stream on which it hears what it did not ask for. */
  onListening(): void
  /** Told of each that has ended, however it did. */
  onEnded(session: LegacySession): Promise<void>
  /** Our own way for ordinary calls, if it is to be taken. */
  readonly calls?: LegacyCalls | undefined
}

export function createLegacySessions({ clock, ids, limits, calls, ...deps }: LegacySessionsDeps): LegacySessions {
  const sessions = createOpenSessions({ clock, limits, onEnded: deps.onEnded })

  async function open(request: Request, who: AuthenticatedAgent, body: unknown): Promise<HeldAnswer> {
    const giveBack = sessions.reserve(who)
    try {
      return { served: await initialise(request, who, body), release() {} }
    } finally {
      giveBack()
    }
  }

  async function initialise(request: Request, who: AuthenticatedAgent, body: unknown): Promise<Response> {
    const agentTools = deps.agentToolsOf(who)
    const listening = { streams: 0 }
    const server = await deps.build(agentTools, () => listening.streams > 0)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => ids.next('session'),
      onsessioninitialized: id =>
        sessions.add(newSession({ id, who, agentTools, server, transport, listening, usedAt: clock.now() })),
      onsessionclosed: sessions.drop,
    })
    await server.connect(transport)
    return transport.handleRequest(request, { parsedBody: body, authInfo: authInfoOf(who) })
  }

  async function handleIn(
    id: string,
    who: AuthenticatedAgent,
    { request, body }: Omit<PassedRequest, 'calls'>,
  ): Promise<HeldAnswer> {
    const session = sessions.find(id, who)
    if (!session) return refused(404, 'There is no such session. Initialise again.')
    const release = enterSession(session, clock, body)
    try {
      const served = await passOn(session, { request, body, calls })
      return { served, release: request.method === 'GET' && served.ok ? listens(session, release) : release }
    } catch (error) {
      release()
      throw error
    }
  }

  /** The stream is there: what is said from here on reaches its client. */
  function listens({ listening }: LegacySession, release: () => void): () => void {
    listening.streams++
    deps.onListening()
    return () => {
      listening.streams--
      release()
    }
  }

  return {
    serveOrdinary(call, who) {
      const session = calls && sessions.find(call.headers.get('mcp-session-id'), who)
      const answer = session && !session.choseLogs ? calls?.serve(call, session) : undefined
      if (!session || !answer) return undefined
      const release = enterSession(session, clock)
      return answer.then(served => ({ served, release }))
    },
    async handle(request, who, body) {
      const id = request.headers.get('mcp-session-id')
      if (id !== null) return handleIn(id, who, { request, body })
      const opens = (Array.isArray(body) ? body : [body]).some(isInitializeRequest)
      return opens ? open(request, who, body) : refused(400, 'A session is needed. Send "initialize" first.')
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

/** A session of a client from before 2026-07-28. */
interface LegacySession extends CallSession {
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly server: Server
  /** The streams on which its client hears what it did not ask for: one, or none. */
  readonly listening: { streams: number }
  usedAt: number
  /** Its client said which logs it wants; the server that was told so knows which. */
  choseLogs: boolean
  /** The requests under way that came in a batch: they share a stream, and one of them must not end it for the others. */
  readonly batched: Set<unknown>
  /** Requests and streams under way: such a session has a client, however long it has been silent. */
  open: number
}

type NewSession = Pick<LegacySession, 'id' | 'who' | 'agentTools' | 'server' | 'transport' | 'listening' | 'usedAt'>

/** One that was opened just now. */
function newSession(made: NewSession): LegacySession {
  const headers = answerHeaders({ 'mcp-session-id': made.id })
  return { ...made, headers, running: new Map(), choseLogs: false, batched: new Set(), open: 0 }
}

/** Something is under way in it until the answer is called. */
function enterSession(session: LegacySession, clock: Pick<Clock, 'now'>, body?: unknown): () => void {
  const together = requestsTogether(body)
  session.open++
  session.usedAt = clock.now()
  for (const id of together) session.batched.add(id)
  return () => {
    session.open--
    session.usedAt = clock.now()
    for (const id of together) session.batched.delete(id)
  }
}

/** The ids of the requests that share an answer. */
function requestsTogether(body: unknown): unknown[] {
  const requests = messagesIn(body).filter(message => 'id' in message && 'method' in message)
  return requests.length > 1 ? requests.map(({ id }) => id) : []
}

function messagesIn(body: unknown): Record<string, unknown>[] {
  return (Array.isArray(body) ? body : [body]).filter(isObject)
}

interface PassedRequest {
  readonly request: Request
  readonly body: unknown
  /** Our own way for ordinary calls, if it is taken. */
  readonly calls: Pick<LegacyCalls, 'hear'> | undefined
}

/** Has the server of the SDK answer a request. */
async function passOn(session: LegacySession, { request, body, calls }: PassedRequest): Promise<Response> {
  const messages = messagesIn(body)
  if (messages.some(({ method }) => method === 'logging/setLevel')) session.choseLogs = true
  const parsed = body === undefined ? {} : { parsedBody: body }
  const served = await session.transport.handleRequest(request, { ...parsed, authInfo: authInfoOf(session.who) })
  // What the server refused to read was not said.
  if (!served.ok) return served
  for (const message of messages) {
    // The server cannot know of calls that went past it.
    calls?.hear(message, session)
    closeCancelled(message, session)
  }
  return served
}

/** The SDK answers nothing that was cancelled, and leaves its stream open. */
function closeCancelled({ method, params }: Record<string, unknown>, { transport, batched }: LegacySession): void {
  if (method !== 'notifications/cancelled' || !isObject(params) || batched.has(params.requestId)) return
  const { requestId } = params
  if (typeof requestId === 'string' || typeof requestId === 'number') transport.closeSSEStream(requestId)
}

/** The sessions that are open. Clients of that era seldom end them, so unused ones expire. */
interface OpenSessions {
  /** A place for one that is about to be opened; answers how to give it back. Throws `RATE_LIMITED` where there is none. */
  reserve(who: AuthenticatedAgent): () => void
  add(session: LegacySession): void
  /** A session of another token is as one that never was. */
  find(id: string | null, who: AuthenticatedAgent): LegacySession | undefined
  /** Closes one, and cancels what runs in it. */
  drop(id: string): Promise<void>
  /** Closes the sessions of a token. */
  end(tokenId: string): Promise<void>
  count(): number
  close(): Promise<void>
}

interface OpenSessionsDeps {
  readonly clock: Clock
  readonly limits: Pick<FrontLimits, 'maxSessions'>
  /** Told of each that has ended, however it did. */
  onEnded(session: LegacySession): Promise<void>
}

/** A session that was unused for this long is closed. */
const IDLE_MS = 30 * 60_000

function createOpenSessions({ clock, limits: { maxSessions }, onEnded }: OpenSessionsDeps): OpenSessions {
  const sessions = new Map<string, LegacySession>()
  /** One that is being opened has its place already, or many at once would all find room. */
  const reserved = new Set<{ readonly tokenId: string }>()
  let cancelReaper = clock.after(IDLE_MS / 2, reap)

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

  const ownOf = (tokenId: string) => [...sessions.values()].filter(({ who }) => who.tokenId === tokenId)

  /** The one that was not used for the longest makes room for a new one. */
  function makeRoom(tokenId: string): void {
    const own = ownOf(tokenId)
    const opening = [...reserved].filter(place => place.tokenId === tokenId)
    if (own.length + opening.length < maxSessions) return
    const [oldest] = own.filter(({ open }) => open === 0).toSorted((a, b) => a.usedAt - b.usedAt)
    if (!oldest) throw tooMany(maxSessions)
    void drop(oldest.id)
  }

  return {
    reserve({ tokenId }) {
      makeRoom(tokenId)
      const place = { tokenId }
      reserved.add(place)
      return () => void reserved.delete(place)
    },
    add: session => void sessions.set(session.id, session),
    find(id, { tokenId }) {
      const session = id === null ? undefined : sessions.get(id)
      return session?.who.tokenId === tokenId ? session : undefined
    },
    drop,
    end: async tokenId => void (await Promise.all(ownOf(tokenId).map(({ id }) => drop(id)))),
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
