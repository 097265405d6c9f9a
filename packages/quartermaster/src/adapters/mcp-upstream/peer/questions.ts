import {
  type Answer,
  issueText,
  ModelQuestion,
  PersonQuestion,
  type Question,
  type QuestionKind,
  UrlQuestion,
} from '../../../contracts/index.ts'
import { type CancelSignal, type Clock, firstIssues } from '../../../core/kernel/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import { pause } from './abort.ts'
import { isSessionForgotten, RPC, RpcError, SendFailure } from './channel.ts'
import type { Answerable } from './session.ts'

/** A question of which only the kind is known. */
export type QuestionKindOnly = Pick<Question, 'kind'>

/** The kind of a server's question, without reading its content. Nothing for any other request. */
export function kindAsked(method: string, { mode }: Params): QuestionKind | undefined {
  if (method === 'roots/list') return 'roots'
  if (method === 'sampling/createMessage') return 'model'
  if (method !== 'elicitation/create') return undefined
  return mode === 'url' ? 'url' : 'person'
}

/** Whether a call waits for the answer. Roots are answered without a person. */
export function needsPerson(method: string, params: Params): boolean {
  const kind = kindAsked(method, params)
  return kind !== undefined && kind !== 'roots'
}

/**
 * A server's request as a question; nothing for any other request. Throws an `RpcError` that says what is wrong with
 * a question that cannot be asked.
 */
export function toQuestion(method: string, params: Params, key?: string): Question | undefined {
  const filed = key !== undefined && KEY.test(key) ? { key } : {}
  if (method === 'roots/list') return { kind: 'roots', ...filed }
  if (method === 'sampling/createMessage') return toModelQuestion(params, filed)
  return method === 'elicitation/create' ? toPersonQuestion(params, filed) : undefined
}

const KEY = /^[\w.-]{1,64}$/

function toPersonQuestion(params: Params, filed: { key?: string }): Question {
  const { mode, message, url, elicitationId, requestedSchema } = params
  if (mode !== 'url')
    return checked(PersonQuestion, {
      message,
      ...(isRecord(requestedSchema) ? { schema: requestedSchema } : {}),
      ...filed,
    })
  const known = typeof elicitationId === 'string' ? { elicitationId } : {}
  return checked(UrlQuestion, { kind: 'url', message, url, ...known, ...filed })
}

function toModelQuestion(params: Params, filed: { key?: string }): Question {
  const { _meta, key: _key, ...asked } = params
  return checked(ModelQuestion, { ...asked, kind: 'model', ...filed })
}

type QuestionSchema = typeof PersonQuestion | typeof UrlQuestion | typeof ModelQuestion

function checked(schema: QuestionSchema, question: Params): Question {
  const parsed = schema.safeParse(question)
  if (parsed.success) return parsed.data
  const wrong = firstIssues(parsed.error.issues).map(issueText).join(' ')
  throw new RpcError({ code: RPC.invalidParams, message: `This cannot be asked. ${wrong}` })
}

export function isAnswerable(question: QuestionKindOnly, can: Answerable): boolean {
  if (question.kind === 'roots') return can.roots
  if (question.kind === 'model') return can.model
  return question.kind === 'url' ? can.url : can.form
}

/** An answer as a protocol result. Throws an `RpcError` where the protocol has none for a refusal. */
export function toResponse(question: QuestionKindOnly, { action, content }: Answer): Params {
  if (question.kind === 'roots' || question.kind === 'model') {
    if (action === 'accept' && content) return content
    throw new RpcError({ code: REJECTED, message: REFUSALS[question.kind] })
  }
  return content === undefined ? { action } : { action, content }
}

/** The code of the specification's examples for refused sampling. */
const REJECTED = -1

/**
 * Not an empty list: some servers take that for a ban on every folder and remember it. After an error they use their
 * own settings.
 */
const REFUSALS = {
  roots: 'The folders are unknown now. Use those that you were started with.',
  model: 'The request for the language model was refused.',
}

/** The answer when no client can be asked. */
export function declined(question: QuestionKindOnly): Params {
  return toResponse(question, { action: 'decline' })
}

/** Tries to deliver an answer: a proxy that restarts is back by then. */
export const MOST_DELIVERIES = 3
/** A server that wants the answer later than this gets none: the call has its own time. */
export const LONGEST_DELAY_MS = 5_000
const USUAL_DELAY_MS = 1_000

interface Delivery {
  readonly clock: Pick<Clock, 'after'>
  /** Aborts when the server no longer wants the answer, or is gone. */
  readonly signal: CancelSignal
}

/**
 * Delivers the answer to a server's question. Resolves to whether it arrived; not where the signal came first.
 * Rejects with why it was refused, where it is still wanted.
 */
export async function deliver(send: () => Promise<void>, { clock, signal }: Delivery): Promise<boolean> {
  let mayBeThere = false
  for (let tries = 1; ; tries++) {
    try {
      await send()
      return true
    } catch (error) {
      if (signal.aborted) return false
      const pauseMs = pauseAfter(error)
      // A server that has the answer refuses a second one as the answer to nothing.
      if (pauseMs === undefined && mayBeThere) return true
      if (pauseMs === undefined || tries >= MOST_DELIVERIES) throw error
      mayBeThere ||= error instanceof SendFailure && error.wasSent === 'maybe'
      await pause(pauseMs, { clock, signal })
      if (signal.aborted) return false
    }
  }
}

/**
 * How long to wait before the answer is sent again, if at all. Also after an unknown outcome: an answer has the id of
 * its question, so a duplicate is harmless.
 */
function pauseAfter(error: unknown): number | undefined {
  if (!(error instanceof SendFailure)) return undefined
  const { wasSent, retryAfterMs = USUAL_DELAY_MS } = error
  const isFinal = wasSent === 'refused' || wasSent === 'turnedAway' || isSessionForgotten(error)
  return isFinal || retryAfterMs > LONGEST_DELAY_MS ? undefined : retryAfterMs
}

/** The error of the call that the question belongs to: it waits in vain, and a repeat would ask again. */
export function undelivered(error: unknown): SendFailure {
  const { message, status, said } = error instanceof SendFailure ? error : UNKNOWN
  const reason = `It asked something, and could not be given the answer: ${message}`
  return new SendFailure(reason, { wasSent: 'maybe', isFinal: true, status, said, cause: error })
}

const UNKNOWN = { message: 'It could not be sent.', status: undefined, said: undefined }
