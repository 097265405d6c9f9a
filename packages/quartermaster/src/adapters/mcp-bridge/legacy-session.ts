import type { IncomingMessage } from 'node:http'
import { Dropped } from '../http-exchange/index.ts'
import { isRecord, type Notification, type Params, type Request, type Response } from '../mcp-wire/index.ts'
import { isStopping } from './delivery.ts'
import { isPassing, strangeAnswer } from './errors.ts'
import { type Incoming, isStream, messagesOf, type Parts, post, readAnswer, type ServerRequests } from './exchange.ts'
import type { Gateway } from './link.ts'

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
async function reopen(initialize: Request, gateway: Gateway, parts: Parts): Promise<Session> {
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
export async function postWithoutAnswer(session: Session, text: string, parts: Parts): Promise<number> {
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

interface StreamHolding {
  /** Whether the session is still the one that is used. */
  isWanted(): boolean
  onMessage(incoming: Incoming): Promise<void>
}

/** Keeps the server's own stream open for as long as it is wanted. Answers whether the session turned out to be gone. */
async function holdStream(
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
async function endSession(session: Session, { exchange }: Parts, signal: AbortSignal): Promise<void> {
  session.over.abort()
  if (session.id === undefined) return
  const headers = { authorization: `Bearer ${session.gateway.token}`, ...sessionHeaders(session) }
  const reply = await exchange.send({ method: 'DELETE', url: session.gateway.url, headers, signal })
  reply.resume()
}

/** What a client has set up in its session, so that another session can be given the same. */
export interface LegacyMemory {
  /** The client's own `initialize`. */
  initialize(): Request | undefined
  /** Whether the client has said that it is ready. */
  isInitialized(): boolean
  noteRequest(request: Request, answer: Response): void
  noteNotification(incoming: Incoming<Notification>): void
  /** The requests that bring another session to where this one was. */
  replay(): Request[]
}

export const INITIALIZED: Notification = { jsonrpc: '2.0', method: 'notifications/initialized' }

export function createLegacyMemory(): LegacyMemory {
  const subscribed = new Map<unknown, Params>()
  let initialize: Request | undefined
  let isInitialized = false
  let level: Params | undefined
  return {
    initialize: () => initialize,
    isInitialized: () => isInitialized,
    noteRequest(request, { result }) {
      if (result === undefined) return
      const { method, params = {} } = request
      if (method === 'initialize') [initialize, isInitialized] = [request, false]
      if (method === 'resources/subscribe') subscribed.set(params.uri, params)
      if (method === 'resources/unsubscribe') subscribed.delete(params.uri)
      if (method === 'logging/setLevel') level = params
    },
    noteNotification({ message }) {
      if (message.method === INITIALIZED.method) isInitialized = true
    },
    replay() {
      const wanted = [
        ...[...subscribed.values()].map(params => ({ method: 'resources/subscribe', params })),
        ...(level ? [{ method: 'logging/setLevel', params: level }] : []),
      ]
      return wanted.map((request, index) => ({ jsonrpc: '2.0', id: `quartermaster-connect:${index}`, ...request }))
    },
  }
}

const LISTS = ['tools', 'resources', 'prompts']

/** Notices that everything a server lists may have changed. */
function listChanges(capabilities: Params): Notification[] {
  const announced = LISTS.filter(list => {
    const capability = capabilities[list]
    return isRecord(capability) && capability.listChanged === true
  })
  return announced.map(list => ({ jsonrpc: '2.0', method: `notifications/${list}/list_changed` }))
}

/** The session of a client, over as many sessions with gateways as it takes. */
export interface LastingSession {
  /** The session with this gateway; a new one where the last was with another. Rejects with `Dropped`. */
  with(gateway: Gateway): Promise<Session>
  /** The client has opened this one itself. */
  take(session: Session): void
  /** A client that initialises again has no use for the session it had. */
  leave(): Promise<void>
  /** The server does not know this one any more. */
  retire(session: Session): Promise<void>
  /** The client is ready to hear what the server says unasked. */
  listen(): void
  close(signal: AbortSignal): Promise<void>
}

interface LastingSessionDeps {
  readonly parts: Parts
  /** What the client has set up, and is to find again. */
  readonly memory: LegacyMemory
  readonly voice: SessionSender
}

export function createLastingSession(deps: LastingSessionDeps): LastingSession {
  const { parts, memory, voice } = deps
  const { link, closing } = parts
  let current: Session | undefined
  let opening: Promise<Session> | undefined
  let listening: Session | undefined

  async function retire(session: Session | undefined): Promise<void> {
    if (!session) return
    session.over.abort()
    if (current === session) current = undefined
    await voice.over(session)
  }

  async function sessionWith(gateway: Gateway): Promise<Session> {
    while (current?.gateway !== gateway) {
      const initialize = memory.initialize()
      if (!initialize) return { gateway, capabilities: {}, over: new AbortController() }
      opening ??= renew(initialize, gateway).finally(() => {
        opening = undefined
      })
      if ((await opening).gateway !== gateway) continue
    }
    return current
  }

  async function renew(initialize: Request, gateway: Gateway): Promise<Session> {
    await retire(current)
    const session = await reopen(initialize, gateway, parts)
    current = session
    if (!memory.isInitialized()) return session
    await setUp(session, deps)
    void listenTo(session)
    await voice.renewed(session)
    return session
  }

  async function listenTo(session: Session): Promise<void> {
    if (listening === session) return
    listening = session
    const isWanted = () => current === session && !closing.aborted
    const end = await holdStream(session, { isWanted, onMessage: voice.forward(session) }, parts)
    if (end === 'gone') await restore(session)
  }

  /** A client that waits for changes sends nothing, so no other check would notice that the session is gone. */
  async function restore(session: Session): Promise<void> {
    await retire(session)
    for (let tries = 0; !closing.aborted; tries++) {
      try {
        return void (await sessionWith(await link.gateway()))
      } catch (error) {
        if (!(error instanceof Dropped) && !isPassing(error)) return
        await parts.pause(tries)
      }
    }
  }

  return {
    with: sessionWith,
    take(session) {
      current = session
    },
    async leave() {
      const left = current
      await retire(left)
      // It ends by itself with its token when this does not arrive.
      if (left) endSession(left, parts, closing).catch(() => {})
    },
    retire,
    listen() {
      if (current) void listenTo(current)
    },
    async close(signal) {
      if (current) await endSession(current, parts, signal)
    },
  }
}

/** Brings a new session to where the client had its last one. */
async function setUp(session: Session, { parts, memory, voice }: LastingSessionDeps): Promise<void> {
  await postWithoutAnswer(session, JSON.stringify(INITIALIZED), parts)
  const options = { headers: sessionHeaders(session), signal: parts.closing }
  for (const request of memory.replay()) {
    const reply = await post(parts, session.gateway, JSON.stringify(request), options)
    // What cannot be had again is no reason to do without the rest.
    await readAnswer(reply, request.id, voice.forward(session))
  }
}

/** What the client hears of its sessions. To the client they are one. */
export interface SessionSender {
  /** Passes on what the server says in a session. */
  forward(session: Session): (incoming: Incoming) => Promise<void>
  /** A session is over: everything that was asked in it is called back. */
  over(session: Session): Promise<void>
  /** A session took the place of another: whatever its server lists may have changed meanwhile. */
  renewed(session: Session): Promise<void>
}

interface SessionVoiceDeps {
  readonly parts: Parts
  readonly serverRequests: ServerRequests
  /** Told after each message that was passed on. */
  onForwarded(): void
}

export function createSessionSender({ parts, serverRequests, onForwarded }: SessionVoiceDeps): SessionSender {
  const { facts, writer } = parts
  return {
    forward:
      session =>
      async ({ message, text }) => {
        facts.notice(message)
        const outward = serverRequests.outward(message, session)
        await writer.write(outward === message ? text : JSON.stringify(outward))
        onForwarded()
      },
    async over(session) {
      for (const message of serverRequests.recall(session)) await writer.write(JSON.stringify(message))
    },
    async renewed({ capabilities }) {
      // What is known of the tools stays: hardly any restart changes them.
      for (const change of listChanges(capabilities)) await writer.write(JSON.stringify(change))
    },
  }
}
