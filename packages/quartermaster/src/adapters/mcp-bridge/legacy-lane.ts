import { keyOf, type Notification, type Request, type Response } from '../mcp-wire/index.ts'
import { deliver, isStopping, type Outcome } from './delivery.ts'
import { failureAnswer, isPassing, strangeAnswer } from './errors.ts'
import { type Incoming, type Parts, post, readAnswer } from './exchange-parts.ts'
import type { Gateway } from './gateway.ts'
import { Dropped } from './http-exchange.ts'
import { createLegacyMemory, INITIALIZED, listChanges } from './legacy-memory.ts'
import {
  endSession,
  followStream,
  postOneWay,
  reopen,
  type Session,
  sessionHeaders,
  sessionOf,
} from './legacy-session.ts'
import { createServerRequests } from './server-requests.ts'

/** Passes on what clients from before 2026-07-28 say, in a session that survives its server. */
export interface LegacyLane {
  request(incoming: Incoming<Request>): Promise<void>
  notify(incoming: Incoming<Notification>): Promise<void>
  respond(response: Response): Promise<void>
  /** A client's `notifications/cancelled`. */
  cancel(incoming: Incoming<Notification>): Promise<void>
  close(signal: AbortSignal): Promise<void>
}

/** A request that waits for its answer. */
interface Open {
  isSent: boolean
  isCancelled: boolean
  readonly controller: AbortController
}

export function createLegacyLane(parts: Parts): LegacyLane {
  const { link, writer, facts, closing } = parts
  const memory = createLegacyMemory()
  const serverRequests = createServerRequests()
  const open = new Map<string, Open>()
  let current: Session | undefined
  let opening: Promise<Session> | undefined
  let listening: Session | undefined
  /** Messages without an answer go one after the other, and before requests that came after them. */
  let oneWay: Promise<void> = Promise.resolve()

  closing.addEventListener('abort', () => {
    for (const { controller } of open.values()) controller.abort()
  })

  const forward =
    (session: Session) =>
    async ({ message, text }: Incoming): Promise<void> => {
      facts.notice(message)
      const outward = serverRequests.outward(message, session)
      await writer.write(outward === message ? text : JSON.stringify(outward))
    }

  async function retire(session: Session | undefined): Promise<void> {
    if (!session) return
    session.over.abort()
    if (current === session) current = undefined
    for (const message of serverRequests.recall(session)) await writer.write(JSON.stringify(message))
  }

  /** A client that initialises again has no use for the session it had. */
  async function leave(session: Session | undefined): Promise<void> {
    if (!session) return
    await retire(session)
    // It ends by itself with its token when this does not arrive.
    endSession(session, parts, closing).catch(() => {})
  }

  /** The session with this gateway, made anew where the last one was with another. */
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
    await postOneWay(session, JSON.stringify(INITIALIZED), parts)
    for (const request of memory.replay()) await repeat(request, session)
    void listenTo(session)
    for (const change of listChanges(session.capabilities)) {
      facts.notice(change)
      await writer.write(JSON.stringify(change))
    }
    return session
  }

  async function repeat(request: Request, session: Session): Promise<void> {
    const options = { headers: sessionHeaders(session), signal: closing }
    const reply = await post(parts, session.gateway, JSON.stringify(request), options)
    // What cannot be had again is no reason to do without the rest.
    await readAnswer(reply, request.id, forward(session))
  }

  /** Keeps the server's own stream open for as long as the session is the current one. */
  async function listenTo(session: Session): Promise<void> {
    if (listening === session) return
    listening = session
    const isWanted = () => current === session && !closing.aborted
    for (let tries = 0; isWanted(); tries++) {
      const follow = () => followStream(session, forward(session), parts)
      const end = await link.during(session.gateway, follow).catch(() => 'refused' as const)
      if (end === 'none' || !isWanted()) return
      if (end === 'refused') link.lose(session.gateway)
      if (end !== 'ended') return restore(session)
      await parts.pause(tries)
    }
  }

  /** Whoever waits for changes says nothing, so nobody else would notice that the session is gone. */
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

  async function attempt(incoming: Incoming<Request>, gateway: Gateway, state: Open): Promise<Outcome> {
    const { message: request, text } = incoming
    const isOpening = request.method === 'initialize'
    if (isOpening) await leave(current)
    const session = isOpening ? undefined : await established(gateway)
    if (session === 'notSent') return session
    state.isSent = true
    const headers = session ? sessionHeaders(session) : {}
    const reply = await post(parts, gateway, text, { headers, signal: state.controller.signal })
    const answer = await readAnswer(reply, request.id, session ? forward(session) : writeText)
    const status = reply.statusCode ?? 0
    if (status === 401) return 'notSent'
    if (status === 404 && session?.id !== undefined) {
      await retire(session)
      return 'again'
    }
    if (!answer) return brokenOff(status, state)
    if (isStopping(answer.message) && facts.isRepeatable(request)) return 'unknown'
    if (isOpening && answer.message.result !== undefined) current = sessionOf(gateway, reply, answer.message.result)
    await settle(request, answer, state)
    return 'answered'
  }

  const writeText = ({ text }: Incoming) => writer.write(text)

  async function established(gateway: Gateway): Promise<Session | 'notSent'> {
    try {
      return await sessionWith(gateway)
    } catch (error) {
      // It was not the client's request that got lost.
      if (error instanceof Dropped) return 'notSent'
      throw error
    }
  }

  async function settle(request: Request, { message, text }: Incoming<Response>, state: Open): Promise<void> {
    memory.noteRequest(request, message)
    if (request.method === 'tools/list') facts.learn(message.result)
    if (!state.isCancelled) await writer.write(text)
  }

  /** Sends a message for which there is no answer, in its turn. */
  function sendOneWay(toText: (session: Session) => string | undefined): Promise<void> {
    const send = async () => {
      const gateway = await link.gateway()
      const session = await sessionWith(gateway)
      const text = toText(session)
      if (text !== undefined) await postOneWay(session, text, parts)
    }
    // A notice that gets lost with its server concerns nobody any more.
    oneWay = oneWay.then(send).catch(() => {})
    return oneWay
  }

  return {
    async request(incoming) {
      const { message } = incoming
      const state: Open = { isSent: false, isCancelled: false, controller: new AbortController() }
      open.set(keyOf(message.id), state)
      try {
        await oneWay
        const isOver = () => state.isCancelled || closing.aborted
        await deliver(parts, { request: message, isOver, attempt: gateway => attempt(incoming, gateway, state) })
      } catch (error) {
        if (!state.isCancelled && !closing.aborted) await writer.write(JSON.stringify(failureAnswer(message, error)))
      } finally {
        if (open.get(keyOf(message.id)) === state) open.delete(keyOf(message.id))
      }
    },
    async notify(incoming) {
      memory.noteNotification(incoming)
      await sendOneWay(() => incoming.text)
      if (incoming.message.method === INITIALIZED.method && current) void listenTo(current)
    },
    respond: response =>
      sendOneWay(session => {
        const inward = serverRequests.inward(response, session)
        return inward && JSON.stringify(inward)
      }),
    async cancel(incoming) {
      const state = open.get(keyOf(incoming.message.params?.requestId))
      if (!state) return
      state.isCancelled = true
      if (state.isSent) await sendOneWay(() => incoming.text)
      // Some servers keep the connection of a cancelled request open for ever.
      state.controller.abort()
    },
    async close(signal) {
      if (current) await endSession(current, parts, signal)
    },
  }
}

function brokenOff(status: number, { isCancelled }: Open): Outcome {
  if (isCancelled) return 'answered'
  if (status >= 400) throw strangeAnswer(status)
  return 'unknown'
}
