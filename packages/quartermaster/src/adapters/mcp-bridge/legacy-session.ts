import type { IncomingMessage } from 'node:http'
import { Dropped } from '../http-exchange/index.ts'
import { isRecord, type Params, type Request } from '../mcp-wire/index.ts'
import { isStopping } from './delivery.ts'
import { strangeAnswer } from './errors.ts'
import { type Incoming, isStream, messagesOf, type Parts, post, readAnswer } from './exchange-parts.ts'
import type { Gateway } from './gateway.ts'

/** A session with one gateway. */
export interface Session {
  readonly gateway: Gateway
  /** Absent before the client has initialised. */
  readonly id?: string
  readonly version?: string
  /** What the server says it can do. */
  readonly capabilities: Params
  /** Ends what the session has open. */
  readonly over: AbortController
}

/** The session that an answer to `initialize` has opened. */
export function sessionOf(gateway: Gateway, reply: IncomingMessage, result: unknown): Session {
  const { protocolVersion, capabilities } = isRecord(result) ? result : {}
  const id = reply.headers['mcp-session-id']
  return {
    gateway,
    ...(typeof id === 'string' ? { id } : {}),
    ...(typeof protocolVersion === 'string' ? { version: protocolVersion } : {}),
    capabilities: isRecord(capabilities) ? capabilities : {},
    over: new AbortController(),
  }
}

export function sessionHeaders({ id, version }: Session): Record<string, string> {
  return {
    ...(id === undefined ? {} : { 'mcp-session-id': id }),
    ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
  }
}

/** Opens a session as the client once did, without the client. Rejects with `Dropped`. */
export async function reopen(initialize: Request, gateway: Gateway, parts: Parts): Promise<Session> {
  const request = { ...initialize, id: 'quartermaster-connect:initialize' }
  const reply = await post(parts, gateway, JSON.stringify(request), { headers: {}, signal: parts.closing })
  const answer = await readAnswer(reply, request.id, async () => {})
  const status = reply.statusCode ?? 0
  const isGone = answer ? status === 401 || isStopping(answer.message) : status < 400
  if (isGone) throw new Dropped(undefined, { wasSent: false })
  if (answer?.message.result === undefined) throw strangeAnswer(status)
  return sessionOf(gateway, reply, answer.message.result)
}

/** Posts a message for which there is no answer, and tells its status. Rejects with `Dropped`. */
export async function postOneWay(session: Session, text: string, parts: Parts): Promise<number> {
  const headers = sessionHeaders(session)
  const reply = await post(parts, session.gateway, text, { headers, signal: parts.closing })
  reply.resume()
  return reply.statusCode ?? 0
}

/**
 * How the stream of a session ended: it may be opened again, the session is no more, we are not let in any more, or there
 * is no such stream.
 */
type StreamEnd = 'ended' | 'gone' | 'refused' | 'none'

/** 409 says that the server has not yet noticed the end of the last one. */
const ENDS: Readonly<Record<number, StreamEnd>> = { 401: 'refused', 405: 'none', 409: 'ended' }

export interface StreamHolding {
  /** Whether the session is still the one that is used. */
  isWanted(): boolean
  onMessage(incoming: Incoming): Promise<void>
}

/** Keeps the server's own stream open for as long as it is wanted. Answers whether the session turned out to be gone. */
export async function holdStream(
  session: Session,
  { isWanted, onMessage }: StreamHolding,
  parts: Parts,
): Promise<'gone' | 'over'> {
  const { link, pause } = parts
  const { gateway } = session
  for (let tries = 0; isWanted(); tries++) {
    const follow = () => followStream(session, onMessage, parts)
    const end = await link.during(gateway, follow).catch(() => 'refused' as const)
    if (end === 'none' || !isWanted()) break
    if (end === 'refused') link.lose(gateway)
    if (end !== 'ended') return 'gone'
    await pause(tries)
  }
  return 'over'
}

/** Follows the stream on which the server speaks unasked. Rejects with `Dropped`. */
async function followStream(
  session: Session,
  onMessage: (incoming: Incoming) => Promise<void>,
  { exchange, closing }: Parts,
): Promise<StreamEnd> {
  const reply = await exchange.send({
    method: 'GET',
    url: session.gateway.url,
    headers: {
      authorization: `Bearer ${session.gateway.token}`,
      accept: 'text/event-stream',
      ...sessionHeaders(session),
    },
    signal: AbortSignal.any([session.over.signal, closing]),
  })
  if (!isStream(reply)) {
    reply.resume()
    return ENDS[reply.statusCode ?? 0] ?? 'gone'
  }
  try {
    for await (const incoming of messagesOf(reply)) await onMessage(incoming)
  } catch {
    // Broken off or ended: it has to be opened again either way.
  }
  return 'ended'
}

/** Tells the server that the session is not needed any more. */
export async function endSession(session: Session, { exchange }: Parts, signal: AbortSignal): Promise<void> {
  session.over.abort()
  if (session.id === undefined) return
  const headers = { authorization: `Bearer ${session.gateway.token}`, ...sessionHeaders(session) }
  const reply = await exchange.send({ method: 'DELETE', url: session.gateway.url, headers, signal })
  reply.resume()
}
