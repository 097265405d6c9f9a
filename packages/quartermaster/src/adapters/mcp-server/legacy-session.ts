import type { Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import type { Clock } from '../../core/kernel/index.ts'
import { answerHeaders } from './answer-stream.ts'
import type { CallSession, LegacyCalls } from './legacy-calls.ts'
import { isObject } from './ordinary-message.ts'
import { authInfoOf } from './who.ts'

/** A session of a client from before 2026-07-28. */
export interface LegacySession extends CallSession {
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

type NewSession = Pick<LegacySession, 'id' | 'who' | 'shelf' | 'server' | 'transport' | 'listening' | 'usedAt'>

/** One that was opened just now. */
export function newSession(made: NewSession): LegacySession {
  const headers = answerHeaders({ 'mcp-session-id': made.id })
  return { ...made, headers, running: new Map(), choseLogs: false, batched: new Set(), open: 0 }
}

/** Something is under way in it until the answer is called. */
export function enterSession(session: LegacySession, clock: Pick<Clock, 'now'>, body?: unknown): () => void {
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

export interface PassedRequest {
  readonly request: Request
  readonly body: unknown
  /** Our own way for ordinary calls, if it is taken. */
  readonly calls: Pick<LegacyCalls, 'hear'> | undefined
}

/** Has the server of the SDK answer a request. */
export async function passOn(session: LegacySession, { request, body, calls }: PassedRequest): Promise<Response> {
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
