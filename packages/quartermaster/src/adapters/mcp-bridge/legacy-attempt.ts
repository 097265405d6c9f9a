import { Dropped } from '../http-exchange/index.ts'
import type { Request, Response } from '../mcp-wire/index.ts'
import { type AttemptOptions, isRetried, isStopping, type Outcome } from './delivery.ts'
import { strangeAnswer } from './errors.ts'
import { type Incoming, type Parts, post, readAnswer } from './exchange-parts.ts'
import type { Gateway } from './gateway.ts'
import type { LastingSession } from './lasting-session.ts'
import type { LegacyMemory } from './legacy-memory.ts'
import { type Session, sessionHeaders, sessionOf } from './legacy-session.ts'
import type { OpenRequest } from './open-requests.ts'
import type { SessionVoice } from './session-voice.ts'
import type { ListTools } from './tool-facts.ts'

/** What it takes to have a request answered. */
export interface LegacyAttempt {
  readonly incoming: Incoming<Request>
  readonly open: OpenRequest
  readonly lasting: LastingSession
  readonly voice: SessionVoice
  readonly memory: LegacyMemory
  readonly parts: Parts
}

/** Sends a request once, in the client's session or to open one. Rejects with `Dropped`. */
export async function attemptWith(
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
