import {
  isInitializeRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { Clock, Ids } from '../../core/kernel/index.ts'
import type { HeldAnswer } from './answer-stream.ts'
import type { DirectCall } from './direct-calls.ts'
import type { FrontLimits } from './front-limits.ts'
import type { LegacyCalls } from './legacy-calls.ts'
import { enterSession, type LegacySession, newSession, type PassedRequest, passOn } from './legacy-session.ts'
import { createOpenSessions } from './open-sessions.ts'
import type { Shelf } from './shelf.ts'
import { authInfoOf, type Who } from './who.ts'

/** Sessions of clients from before 2026-07-28. Each belongs to the token that opened it. */
export interface LegacySessions {
  /** The answer to an ordinary call, or nothing when it is not one. */
  serveOrdinary(call: DirectCall, who: Who): Promise<HeldAnswer> | undefined
  handle(request: Request, who: Who, body: unknown): Promise<HeldAnswer>
  /** Closes the sessions of a token. */
  end(tokenId: string): Promise<void>
  count(): number
  close(): Promise<void>
}

export interface LegacySessionsDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly limits: Pick<FrontLimits, 'maxSessions'>
  shelfOf(who: Who): Shelf
  build(shelf: Shelf, canHear: () => boolean): Promise<Server>
  /** Told when a client has opened the stream on which it hears what it did not ask for. */
  onListening(): void
  /** Told of each that has ended, however it did. */
  onEnded(session: LegacySession): Promise<void>
  /** Our own way for ordinary calls, if it is to be taken. */
  readonly calls?: LegacyCalls | undefined
}

export function createLegacySessions({ clock, ids, limits, calls, ...deps }: LegacySessionsDeps): LegacySessions {
  const sessions = createOpenSessions({ clock, limits, onEnded: deps.onEnded })

  async function open(request: Request, who: Who, body: unknown): Promise<HeldAnswer> {
    const giveBack = sessions.reserve(who)
    try {
      return { served: await initialise(request, who, body), release() {} }
    } finally {
      giveBack()
    }
  }

  async function initialise(request: Request, who: Who, body: unknown): Promise<Response> {
    const shelf = deps.shelfOf(who)
    const listening = { streams: 0 }
    const server = await deps.build(shelf, () => listening.streams > 0)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => ids.next('session'),
      onsessioninitialized: id =>
        sessions.add(newSession({ id, who, shelf, server, transport, listening, usedAt: clock.now() })),
      onsessionclosed: sessions.drop,
    })
    await server.connect(transport)
    return transport.handleRequest(request, { parsedBody: body, authInfo: authInfoOf(who) })
  }

  async function handleIn(id: string, who: Who, { request, body }: Omit<PassedRequest, 'calls'>): Promise<HeldAnswer> {
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
