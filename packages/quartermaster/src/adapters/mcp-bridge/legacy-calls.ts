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
  createDurableSession,
  createLegacyMemory,
  createSessionSender,
  type DurableSession,
  INITIALIZED,
  type LegacyMemory,
  postWithoutAnswer,
  type Session,
  type SessionSender,
  sessionHeaders,
  sessionOf,
} from './legacy-session.ts'
import type { Gateway } from './link.ts'
import type { ListTools } from './tool-facts.ts'

/** Forwards messages of legacy clients, in a session that survives a restart of its server. */
export interface LegacyCalls {
  request(incoming: Incoming<Request>): Promise<void>
  notify(incoming: Incoming<Notification>): Promise<void>
  respond(response: Response): Promise<void>
  cancel(incoming: Incoming<Notification>): Promise<void>
  /** The client has closed its input: answers the server's questions with an error. */
  refuseQuestions(): void
  close(signal: AbortSignal): Promise<void>
}

export function createLegacyCalls(parts: Parts): LegacyCalls {
  const { writer, closing } = parts
  const memory = createLegacyMemory()
  const serverRequests = createServerRequests()
  const sender = createSessionSender({ parts, serverRequests, onForwarded: () => isSilent && refuse() })
  const durable = createDurableSession({ parts, memory, sender })
  const requests = createOpenRequests(closing)
  const oneWay = createOneWay(durable, parts)
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

  async function answer(received: Incoming<Request>, open: OpenRequest): Promise<void> {
    const { message: request } = received
    const isOver = () => open.isCancelled || closing.aborted
    try {
      const incoming = await parts.uploads.prepare(received, open.controller.signal)
      const attempt = { incoming, open, durable, sender, memory, parts }
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
      if (incoming.message.method === INITIALIZED.method) durable.listen()
    },
    respond,
    async cancel(incoming) {
      const open = requests.find(incoming.message.params?.requestId)
      if (!open) return
      open.isCancelled = true
      if (open.isSent) await oneWay.send(() => incoming.text)
      // Some servers never close the connection of a cancelled request.
      open.controller.abort()
    },
    refuseQuestions() {
      isSilent = true
      refuse()
    },
    close: durable.close,
  }
}

interface LegacyAttempt {
  readonly incoming: Incoming<Request>
  readonly open: OpenRequest
  readonly durable: DurableSession
  readonly sender: SessionSender
  readonly memory: LegacyMemory
  readonly parts: Parts
}

/** Sends a request once, in the client's session or to open a session. Rejects with `Dropped`. */
async function attemptWith(
  gateway: Gateway,
  attempt: LegacyAttempt,
  { awaitsRetry }: AttemptOptions,
): Promise<Outcome> {
  const { incoming, open, durable, sender, parts } = attempt
  const { message: request, text } = incoming
  const isOpening = request.method === 'initialize'
  if (isOpening) await durable.leave()
  const session = isOpening ? undefined : await established(gateway, durable)
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
  const onMessage = session ? sender.forward(session) : (received: Incoming) => parts.writer.write(received.text)
  const answer = await readAnswer(reply, request.id, onMessage)
  const status = reply.statusCode ?? 0
  if (status === 401) return 'notSent'
  if (status === 404 && session?.id !== undefined) {
    await durable.retire(session)
    return 'again'
  }
  if (!answer) return brokenOff(status, open)
  if (isStopping(answer.message)) return 'notSent'
  if (awaitsRetry && isRetried(answer.message)) return 'again'
  const { result } = answer.message
  if (isOpening && result !== undefined) durable.take(sessionOf(gateway, reply, result))
  await settle(answer, attempt)
  return 'answered'
}

async function established(gateway: Gateway, durable: DurableSession): Promise<Session | 'notSent'> {
  try {
    return await durable.with(gateway)
  } catch (error) {
    // The lost request was the session's own, not the client's.
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

/** Messages without an answer. They are sent in order, and before later requests. */
function createOneWay(durable: Pick<DurableSession, 'with'>, parts: Parts) {
  let last: Promise<void> = Promise.resolve()

  async function post(toText: (session: Session) => string | undefined): Promise<void> {
    const session = await durable.with(await parts.link.gateway())
    const text = toText(session)
    if (text !== undefined) await postWithoutAnswer(session, text, parts)
  }

  return {
    /** Sends a message in its turn, unless `toText` returns `undefined` for the session. */
    send(toText: (session: Session) => string | undefined) {
      // A notification lost with its server matters no more.
      last = last.then(() => post(toText)).catch(() => {})
      return last
    },
    /** Resolves when everything sent so far has left. */
    sent: () => last,
  }
}
