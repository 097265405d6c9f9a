import { AppError, isAppError, messageOf } from '../../../contracts/index.ts'
import { sentence } from '../../../core/kernel/index.ts'
import { isRecord } from '../../mcp-wire/index.ts'
import { busyMsOf, RPC, RpcError, SendFailure, UnreadableAnswer } from '../peer/channel.ts'

export interface Subject {
  readonly upstream: string
  /** `the tool "search"`. */
  readonly what: string
}

/** What a failure to connect concerns: the server, or only one connection, such as an agent's own. */
export type ErrorScope = { readonly dependency: string } | { readonly upstream: string; readonly agent?: string }

/** Translates a server's error, or the lack of an answer, for the caller. */
export function toUpstreamError(error: unknown, subject: Subject, concerned?: ErrorScope): unknown {
  if (error instanceof UnreadableAnswer) return unreadable(error, subject)
  if (error instanceof RpcError) return refused(error, subject)
  if (error instanceof SendFailure)
    return isTurnedDown(error) ? turnedDown(error, subject) : unreachable(error, subject, concerned)
  return isAppError(error) ? error : new AppError('UPSTREAM_ERROR', `${start(subject)} failed: ${messageOf(error)}`)
}

/** The request may have been carried out, and must not be sent again. */
export function outcomeUnknown(error: SendFailure, { upstream, what }: Subject): AppError {
  // HTTP answered, MCP did not.
  const happened =
    error.status === undefined
      ? `The connection to "${upstream}" broke while ${what} was at work`
      : `"${upstream}" did not say how ${what} ended`
  const message = `${happened}: ${sentence(error.message)} It may have done its work. Look before you call it again.`
  return new AppError('OUTCOME_UNKNOWN', message, { cause: error, details: { upstream } })
}

/** Like `outcomeUnknown` for a request with an unreadable answer: a repeat would bring the same. */
export function unreadOutcome(error: UnreadableAnswer, subject: Subject): AppError {
  return unknownAfter(unreadable(error, subject))
}

/** A poison request: the connection broke during it again and again, and during no other. */
export function breaksConnection(error: SendFailure, subject: Subject, times: number): AppError {
  const message = `${start(subject)} is not sent again, because the connection broke ${times} times at work on it: ${sentence(error.message)}`
  return new AppError('UPSTREAM_ERROR', message, { cause: error, details: { upstream: subject.upstream } })
}

/** Like `cause`, for a request that may have been carried out. */
export function unknownAfter(cause: AppError): AppError {
  const message = `${cause.message} It may have done its work. Look before you call it again.`
  return new AppError('OUTCOME_UNKNOWN', message, { cause, details: { ...cause.details, because: cause.code } })
}

function unreadable(error: UnreadableAnswer, subject: Subject): AppError {
  const message = `${start(subject)} answered, and its answer is not taken: ${sentence(error.why)}`
  return new AppError('OUTPUT_INVALID', message, { cause: error, details: { upstream: subject.upstream } })
}

/** The server refuses this request but answers others, or refuses it in a new session too. */
function isTurnedDown({ wasSent }: SendFailure): boolean {
  return wasSent === 'refused' || wasSent === 'turnedAway'
}

/** An HTTP refusal without a JSON-RPC answer. */
function turnedDown(error: SendFailure, subject: Subject): AppError {
  const { upstream } = subject
  const status = error.status === undefined ? {} : { status: error.status }
  const message = `${start(subject)} was refused: ${sentence(error.message)}`
  return new AppError('UPSTREAM_ERROR', message, { cause: error, details: { upstream, ...status } })
}

function unreachable(error: SendFailure, { upstream, what }: Subject, concerned?: ErrorScope): AppError {
  const { retryAfterMs } = error
  const later = retryAfterMs === undefined ? {} : { retryAfterMs }
  const busyMs = busyMsOf(error)
  const why = sentence(error.message) + (busyMs === undefined ? '' : ` ${whenToTryAgain(busyMs)}`)
  const message = `${capital(what)} of "${upstream}" cannot be reached: ${why}`
  return new AppError('DEPENDENCY_UNAVAILABLE', message, { cause: error, details: { ...concerned, ...later } })
}

/** When a busy server may be asked again, in words: a model reads only the text. */
export function whenToTryAgain(busyMs: number): string {
  return `Try again in ${Math.max(1, Math.ceil(busyMs / 1000))} s.`
}

/** For a request begun before the agent lost the server. */
export function notThereFor(agent: string, upstream: string): AppError {
  const message = `"${agent}" no longer has "${upstream}": access was removed meanwhile. A person can grant it again.`
  return new AppError('DEPENDENCY_UNAVAILABLE', message, { details: { upstream, agent } })
}

/** The server's own words and code. What it says about capabilities is about our connection. */
function refused({ code, message, data }: RpcError, subject: Subject): AppError {
  const { requiredCapabilities } = isRecord(data) ? data : {}
  if (code === RPC.missingCapability)
    return new AppError(
      'ANSWER_UNAVAILABLE',
      `${start(subject)} needs a client that can answer more: ${sentence(message)}`,
      {
        details: isRecord(requiredCapabilities) ? { requiredCapabilities } : {},
      },
    )
  return new AppError('UPSTREAM_ERROR', `${start(subject)} answered with an error: ${sentence(message)}`, {
    details: { upstream: subject.upstream, code, ...(data === undefined ? {} : { data }) },
  })
}

function start({ upstream, what }: Subject): string {
  return `${capital(what)} of "${upstream}"`
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
