import { AppError, isAppError, messageOf } from '../../../contracts/index.ts'
import { sentence } from '../../../core/kernel/index.ts'
import { isRecord } from '../../mcp-wire/index.ts'
import { busyMsOf, RPC, RpcError, SendFailure, UnreadableAnswer } from '../peer/channel.ts'

/** Which upstream, and which of its things. */
export interface Subject {
  readonly upstream: string
  /** `the tool "search"`. */
  readonly what: string
}

/** Whom a failure to connect concerns: the server, or only one connection to it, such as an agent's own. */
export type Concerned = { readonly dependency: string } | { readonly upstream: string; readonly agent?: string }

/** What a server's answer, or the lack of one, means to the caller. */
export function toUpstreamError(error: unknown, subject: Subject, concerned?: Concerned): unknown {
  if (error instanceof UnreadableAnswer) return unreadable(error, subject)
  if (error instanceof RpcError) return refused(error, subject)
  if (error instanceof SendFailure)
    return isTurnedDown(error) ? turnedDown(error, subject) : unreachable(error, subject, concerned)
  return isAppError(error) ? error : new AppError('UPSTREAM_ERROR', `${start(subject)} failed: ${messageOf(error)}`)
}

/** A request that may have been carried out, and must not be sent again. */
export function outcomeUnknown(error: SendFailure, { upstream, what }: Subject): AppError {
  // An HTTP answer arrived, but is no answer.
  const happened =
    error.status === undefined
      ? `The connection to "${upstream}" broke while ${what} was at work`
      : `"${upstream}" did not say how ${what} ended`
  const message = `${happened}: ${sentence(error.message)} It may have done its work. Look before you call it again.`
  return new AppError('OUTCOME_UNKNOWN', message, { cause: error, details: { upstream } })
}

/** The same for an answered request: a repeat would not tell more. */
export function unreadOutcome(error: UnreadableAnswer, subject: Subject): AppError {
  return unknownAfter(unreadable(error, subject))
}

/** A request during which the connection broke again and again, and during no other. */
export function breaksConnection(error: SendFailure, subject: Subject, times: number): AppError {
  const message = `${start(subject)} is not sent again, because the connection broke ${times} times at work on it: ${sentence(error.message)}`
  return new AppError('UPSTREAM_ERROR', message, { cause: error, details: { upstream: subject.upstream } })
}

/** The same where it may have been done. */
export function unknownAfter(cause: AppError): AppError {
  const message = `${cause.message} It may have done its work. Look before you call it again.`
  return new AppError('OUTCOME_UNKNOWN', message, { cause, details: { ...cause.details, because: cause.code } })
}

function unreadable(error: UnreadableAnswer, subject: Subject): AppError {
  const message = `${start(subject)} answered, and its answer is not taken: ${sentence(error.why)}`
  return new AppError('OUTPUT_INVALID', message, { cause: error, details: { upstream: subject.upstream } })
}

/** A server that refuses it but answers other requests, or refuses it in a new session too, refuses the request. */
function isTurnedDown({ wasSent }: SendFailure): boolean {
  return wasSent === 'refused' || wasSent === 'turnedAway'
}

/** An HTTP refusal without an answer of the protocol. */
function turnedDown(error: SendFailure, subject: Subject): AppError {
  const { upstream } = subject
  const status = error.status === undefined ? {} : { status: error.status }
  const message = `${start(subject)} was refused: ${sentence(error.message)}`
  return new AppError('UPSTREAM_ERROR', message, { cause: error, details: { upstream, ...status } })
}

function unreachable(error: SendFailure, { upstream, what }: Subject, concerned?: Concerned): AppError {
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

/** A request begun while the agent still had the server. */
export function notThereFor(agent: string, upstream: string): AppError {
  const message = `"${agent}" no longer has "${upstream}": access was removed meanwhile. A person can grant it again.`
  return new AppError('DEPENDENCY_UNAVAILABLE', message, { details: { upstream, agent } })
}

/** The server's own words and code; what it says about capabilities is about our connection. */
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
