import { Dropped } from '../http-exchange/index.ts'
import type { Notification, Request, Response } from '../mcp-wire/index.ts'
import { type AttemptOptions, deliver, isRetried, isStopping, type Outcome } from './delivery.ts'
import { failureAnswer, strangeAnswer } from './errors.ts'
import {
  createOpenRequests,
  createServerRequests,
  type Incoming,
  type OpenRequest,
  type Parts,
  post,
  readAnswer,
} from './exchange.ts'
import {
  createLastingSession,
  createLegacyMemory,
  createSessionSender,
  INITIALIZED,
  type LastingSession,
  type LegacyMemory,
  postWithoutAnswer,
  type Session,
  type SessionSender,
  sessionHeaders,
  sessionOf,
} from './legacy-session.ts'
import type { Gateway } from './link.ts'
import type { ListTools } from './tool-facts.ts'

/** Passes on what clients from before 2026-07-28 say, in a session that survives its server. */
export interface LegacyCalls {
  request(incoming: Incoming<Request>): Promise<void>
  notify(incoming: Incoming<Notification>): Promise<void>
  respond(response: Response): Promise<void>
  /** A client's `notifications/cancelled`. */
  cancel(incoming: Incoming<Notification>): Promise<void>
  /** The client has ended its input: questions to it stay unanswered, and the gateway is told so. */
  silence(): void
  close(signal: AbortSignal): Promise<void>
}

export function createLegacyCalls(parts: Parts): LegacyCalls {
  const { writer, closing } = parts
  const memory = createLegacyMemory()
  const serverRequests = createServerRequests()
  const voice = createSessionSender({ parts, serverRequests, onForwarded: () => isSilent && refuse() })
  const lasting = createLastingSession({ parts, memory, voice })
  const requests = createOpenRequests(closing)
  const oneWay = createOneWay(lasting, parts)
  let isSilent = false

  function respond(response: Response): Promise<void> {
    return oneWay.send(session => {
      const inward = serverRequests.inward(response, session)
      return inward && JSON.stringify(inward)
    })
  }

  function refuse(): void {
    for (const refusal of serverRequests.refusals()) void respond(refusal)
  }

  async function answer(said: Incoming<Request>, open: OpenRequest): Promise<void> {
    const { message: request } = said
    const isOver = () => open.isCancelled || closing.aborted
    try {
      const incoming = await parts.attaching.prepare(said, open.controller.signal)
      const attempt = { incoming, open, lasting, voice, memory, parts }
      await oneWay.sent()
      const isRepeatable = () => open.terms?.isRepeatable ?? true
      await deliver(parts, {
        request,
        isOver,
        isRepeatable,
        attempt: (gateway, options) => attemptWith(gateway, attempt, options),
      })
    } catch (error) {
      if (!isOver()) await writer.write(JSON.stringify(failureAnswer(request, error)))
    }
  }

  return {
    request: incoming => requests.during(incoming.message, open => answer(incoming, open)),
    async notify(incoming) {
      memory.noteNotification(incoming)
      await oneWay.send(() => incoming.text)
      if (incoming.message.method === INITIALIZED.method) lasting.listen()
    },
    respond,
    async cancel(incoming) {
      const open = requests.find(incoming.message.params?.requestId)
      if (!open) return
      open.isCancelled = true
      if (open.isSent) await oneWay.send(() => incoming.text)
      // Some servers keep the connection of a cancelled request open for ever.
      open.controller.abort()
    },
    silence() {
      isSilent = true
      refuse()
    },
    close: lasting.close,
  }
}

/** What it takes to have a request answered. */
interface LegacyAttempt {
  readonly incoming: Incoming<Request>
  readonly open: OpenRequest
  readonly lasting: LastingSession
  readonly voice: SessionSender
  readonly memory: LegacyMemory
  readonly parts: Parts
}

/** Sends a request once, in the client's session or to open one. Rejects with `Dropped`. */
async function attemptWith(
  gateway: Gateway,
  attempt: LegacyAttempt,
  { awaitsRetry }: AttemptOptions,
): Promise<Outcome> {
  const { incoming, open, lasting, voice, parts } = attempt
  const { message: request, text } = incoming
  const isOpening = request.method === 'initialize'
  if (isOpening) await lasting.leave()
  const session = isOpening ? undefined : await established(gateway, lasting)
  if (session === 'notSent') return session
  const list: ListTools = async params => {
    const asked: Request = { jsonrpc: '2.0', id: 'quartermaster-connect:tools', method: 'tools/list', params }
    const options = { headers: session ? sessionHeaders(session) : {}, signal: open.controller.signal }
    const listed = await readAnswer(
      await post(parts, gateway, JSON.stringify(asked), options),
      asked.id,
      async () => {},
    )
    return listed?.message.result
  }
  open.terms ??= await parts.facts.termsOf(request, list)
  open.isSent = true
  const headers = { ...open.terms.headers, ...(session ? sessionHeaders(session) : {}) }
  const reply = await post(parts, gateway, text, { headers, signal: open.controller.signal })
  const onMessage = session ? voice.forward(session) : (heard: Incoming) => parts.writer.write(heard.text)
  const answer = await readAnswer(reply, request.id, onMessage)
  const status = reply.statusCode ?? 0
  if (status === 401) return 'notSent'
  if (status === 404 && session?.id !== undefined) {
    await lasting.retire(session)
    return 'again'
  }
  if (!answer) return brokenOff(status, open)
  if (isStopping(answer.message)) return 'notSent'
  if (awaitsRetry && isRetried(answer.message)) return 'again'
  const { result } = answer.message
  if (isOpening && result !== undefined) lasting.take(sessionOf(gateway, reply, result))
  await settle(answer, attempt)
  return 'answered'
}

async function established(gateway: Gateway, lasting: LastingSession): Promise<Session | 'notSent'> {
  try {
    return await lasting.with(gateway)
  } catch (error) {
    // It was not the client's request that got lost.
    if (error instanceof Dropped) return 'notSent'
    throw error
  }
}

function brokenOff(status: number, { isCancelled }: OpenRequest): Outcome {
  if (isCancelled) return 'answered'
  if (status >= 400) throw strangeAnswer(status)
  return 'unknown'
}

async function settle({ message, text }: Incoming<Response>, attempt: LegacyAttempt): Promise<void> {
  const { incoming, open, memory, parts } = attempt
  const { message: request } = incoming
  memory.noteRequest(request, message)
  if (request.method === 'tools/list') parts.facts.learn(message.result)
  if (!open.isCancelled) await parts.writer.write(text)
}

/** Messages without an answer: they go one after the other, and before requests that came after them. */
interface OneWay {
  /** Sends one in its turn, unless the session it would go to makes nothing of it. */
  send(toText: (session: Session) => string | undefined): Promise<void>
  /** Resolves when all that were to be sent so far are. */
  sent(): Promise<void>
}

function createOneWay(lasting: Pick<LastingSession, 'with'>, parts: Parts): OneWay {
  let last: Promise<void> = Promise.resolve()

  async function post(toText: (session: Session) => string | undefined): Promise<void> {
    const session = await lasting.with(await parts.link.gateway())
    const text = toText(session)
    if (text !== undefined) await postWithoutAnswer(session, text, parts)
  }

  return {
    send(toText) {
      // A notification lost with its server matters to no client any more.
      last = last.then(() => post(toText)).catch(() => {})
      return last
    },
    sent: () => last,
  }
}
