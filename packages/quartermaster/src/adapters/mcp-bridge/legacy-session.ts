import type { IncomingMessage } from 'node:http'
import { Dropped } from '../http-exchange/index.ts'
import { isRecord, type Notification, type Params, type Request, type Response } from '../mcp-wire/index.ts'
import { isStopping } from './delivery.ts'
import { isPassing, strangeAnswer } from './errors.ts'
import { type Incoming, isStream, messagesOf, type Parts, post, readAnswer, type ServerRequests } from './exchange.ts'
import type { Gateway } from './link.ts'

export interface Session {
  readonly gateway: Gateway
  /** Absent before the client has initialised. */
  readonly id?: string
  readonly version?: string
  readonly capabilities: Params
  /** Aborts everything the session has open. */
  readonly over: AbortController
}

/** The session opened by an answer to `initialize`. */
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

/** Opens a session with the client's own `initialize` request. Rejects with `Dropped`. */
async function reopen(initialize: Request, gateway: Gateway, parts: Parts): Promise<Session> {
  const request = { ...initialize, id: 'quartermaster-connect:initialize' }
  const reply = await post(parts, gateway, JSON.stringify(request), { headers: {}, signal: parts.closing })
  const answer = await readAnswer(reply, request.id, async () => {})
  const status = reply.statusCode ?? 0
  const isLost = answer ? status === 401 || isStopping(answer.message) : status < 400
  if (isLost) throw new Dropped(undefined, { wasSent: false })
  if (answer?.message.result === undefined) throw strangeAnswer(status)
  return sessionOf(gateway, reply, answer.message.result)
}

/** Posts a message that has no answer, and returns the HTTP status. Rejects with `Dropped`. */
export async function postWithoutAnswer(session: Session, text: string, parts: Parts): Promise<number> {
  const headers = sessionHeaders(session)
  const reply = await post(parts, session.gateway, text, { headers, signal: parts.closing })
  reply.resume()
  return reply.statusCode ?? 0
}

/** How a session's stream ended: retry, session unknown, token refused, or the server offers no stream. */
type StreamEnd = 'ended' | 'gone' | 'refused' | 'none'

/** 409: the server has not noticed the end of the last stream yet. */
const ENDS: Readonly<Record<number, StreamEnd>> = { 401: 'refused', 405: 'none', 409: 'ended' }

/** Keeps the server's notification stream open while it is wanted. Returns whether the session turned out to be gone. */
async function holdStream(
  session: Session,
  { isWanted, onMessage }: { isWanted(): boolean; onMessage(incoming: Incoming): Promise<void> },
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

/** Follows the server's notification stream once. Rejects with `Dropped`. */
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
    // Whether it broke or ended: it is reopened.
  }
  return 'ended'
}

/** Ends the session at the server. */
async function endSession(session: Session, { exchange }: Parts, signal: AbortSignal): Promise<void> {
  session.over.abort()
  if (session.id === undefined) return
  const headers = { authorization: `Bearer ${session.gateway.token}`, ...sessionHeaders(session) }
  const reply = await exchange.send({ method: 'DELETE', url: session.gateway.url, headers, signal })
  reply.resume()
}

/** What a client has set up in its session, so that a new session can be set up alike. */
export interface LegacyMemory {
  initialize(): Request | undefined
  isInitialized(): boolean
  noteRequest(request: Request, answer: Response): void
  noteNotification(incoming: Incoming<Notification>): void
  /** The requests that bring a new session to the same state. */
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

/** Notifications that everything a server lists may have changed. */
function listChanges(capabilities: Params): Notification[] {
  const announced = LISTS.filter(list => {
    const capability = capabilities[list]
    return isRecord(capability) && capability.listChanged === true
  })
  return announced.map(list => ({ jsonrpc: '2.0', method: `notifications/${list}/list_changed` }))
}

/** The client's session, over as many sessions with gateways as needed. */
export interface DurableSession {
  /** The session with this gateway; opens one when the last was with another gateway. Rejects with `Dropped`. */
  with(gateway: Gateway): Promise<Session>
  /** Takes over a session that the client has opened itself. */
  take(session: Session): void
  /** Ends the session of a client that initialises again. */
  leave(): Promise<void>
  /** Drops a session that the server does not know any more. */
  retire(session: Session): Promise<void>
  /** Opens the notification stream: the client is ready. */
  listen(): void
  close(signal: AbortSignal): Promise<void>
}

interface DurableSessionDeps {
  readonly parts: Parts
  readonly memory: LegacyMemory
  readonly sender: SessionSender
}

export function createDurableSession(deps: DurableSessionDeps): DurableSession {
  const { parts, memory, sender } = deps
  const { link, closing } = parts
  let current: Session | undefined
  let opening: Promise<Session> | undefined
  let listening: Session | undefined

  async function retire(session: Session | undefined): Promise<void> {
    if (!session) return
    session.over.abort()
    if (current === session) current = undefined
    await sender.over(session)
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
    await sender.renewed(session)
    return session
  }

  async function listenTo(session: Session): Promise<void> {
    if (listening === session) return
    listening = session
    const isWanted = () => current === session && !closing.aborted
    const end = await holdStream(session, { isWanted, onMessage: sender.forward(session) }, parts)
    if (end === 'gone') await restore(session)
  }

  /** Reconnects: a client that only waits for notifications sends nothing, so no request would notice the lost session. */
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
      // The session expires with its token if this does not arrive.
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

/** Sets a new session up like the last one. */
async function setUp(session: Session, { parts, memory, sender }: DurableSessionDeps): Promise<void> {
  await postWithoutAnswer(session, JSON.stringify(INITIALIZED), parts)
  const options = { headers: sessionHeaders(session), signal: parts.closing }
  for (const request of memory.replay()) {
    const reply = await post(parts, session.gateway, JSON.stringify(request), options)
    // A failure here is no reason to lose the rest of the session.
    await readAnswer(reply, request.id, sender.forward(session))
  }
}

/** Sends the messages of all sessions to the client, which sees a single one. */
export interface SessionSender {
  /** Forwards the server's messages of a session. */
  forward(session: Session): (incoming: Incoming) => Promise<void>
  /** Cancels the open questions of a session that has ended. */
  over(session: Session): Promise<void>
  /** Announces changed lists after a session was replaced: anything may have changed meanwhile. */
  renewed(session: Session): Promise<void>
}

export function createSessionSender({
  parts: { facts, writer },
  serverRequests,
  onForwarded,
}: {
  parts: Parts
  serverRequests: ServerRequests
  onForwarded(): void
}): SessionSender {
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
      // The known tool facts stay valid: hardly any restart changes them.
      for (const change of listChanges(capabilities)) await writer.write(JSON.stringify(change))
    },
  }
}
