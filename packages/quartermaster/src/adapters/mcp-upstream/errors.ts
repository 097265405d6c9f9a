import { AppError, isAppError, messageOf } from '../../contracts/index.ts'
import { sentence } from '../../core/kernel/index.ts'
import { isRecord } from '../mcp-wire/index.ts'
import { busyMsOf, SendFailure } from './session/channel.ts'
import { RPC, RpcError } from './session/rpc-error.ts'
import { UnreadableAnswer } from './session/unreadable-answer.ts'

/** What is spoken of: which upstream, which of its things. */
export interface Subject {
  readonly upstream: string
  /** `the tool "search"`. */
  readonly what: string
}

/** Whom it is about that something cannot be reached: the server, or no more than a way to it, such as one agent's own. */
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
  // What was answered by HTTP came through, and is no answer.
  const happened =
    error.status === undefined
      ? `The connection to "${upstream}" broke while ${what} was at work`
      : `"${upstream}" did not say how ${what} ended`
  const message = `${happened}: ${sentence(error.message)} It may have done its work. Look before you call it again.`
  return new AppError('OUTCOME_UNKNOWN', message, { cause: error, details: { upstream } })
}

/** The same of one that was answered: to ask again would not tell more. */
export function unreadOutcome(error: UnreadableAnswer, subject: Subject): AppError {
  return unknownAfter(unreadable(error, subject))
}

/** A request at which the connection broke again and again, and no other. */
export function breaksConnection(error: SendFailure, subject: Subject, times: number): AppError {
  const message = `${start(subject)} is not sent again, because the connection broke ${times} times at work on it: ${sentence(error.message)}`
  return new AppError('UPSTREAM_ERROR', message, { cause: error, details: { upstream: subject.upstream } })
}

/** The same of what may be done all the same. */
export function unknownAfter(cause: AppError): AppError {
  const message = `${cause.message} It may have done its work. Look before you call it again.`
  return new AppError('OUTCOME_UNKNOWN', message, { cause, details: { ...cause.details, because: cause.code } })
}

function unreadable(error: UnreadableAnswer, subject: Subject): AppError {
  const message = `${start(subject)} answered, and its answer is not taken: ${sentence(error.why)}`
  return new AppError('OUTPUT_INVALID', message, { cause: error, details: { upstream: subject.upstream } })
}

/** Who turns it away and answers everybody else, or turns it away in a new session too, means the request. */
function isTurnedDown({ wasSent }: SendFailure): boolean {
  return wasSent === 'refused' || wasSent === 'turnedAway'
}

/** Without an answer in the protocol: by HTTP alone. */
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

/** When to come back to a server that is busy, in words: a model reads the text alone. */
export function whenToTryAgain(busyMs: number): string {
  return `Try again in ${Math.max(1, Math.ceil(busyMs / 1000))} s.`
}

/** A request that was begun for an agent while that still had the server. */
export function notThereFor(agent: string, upstream: string): AppError {
  const message = `"${upstream}" is not there for "${agent}" any more: it was taken away from it meanwhile. Whoever runs this can give it back.`
  return new AppError('DEPENDENCY_UNAVAILABLE', message, { details: { upstream, agent } })
}

/** Its own words, with its own code; what it says about capabilities is about the connection to us. */
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
