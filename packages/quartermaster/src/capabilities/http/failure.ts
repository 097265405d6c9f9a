import { AppError, type ToolResult } from '../../contracts/index.ts'
import { toolFailure, type WebAnswer, type WebOutcome } from '../../core/catalogue/index.ts'
import { parseRetryAfter } from '../../core/kernel/index.ts'
import { sizeText } from '../shared/size-text.ts'

export interface FailureOptions {
  readonly url: URL
  /** Whether the request only asks for something. */
  readonly isReading: boolean
  /** What may have been done before it was sent on. */
  readonly before: Effect
}

/** Whether a request that changes things has done so. */
export type Effect = 'none' | 'maybe' | 'done'

/** A request without an answer: what can pass is thrown, so that a policy for retries can take it up. */
export function unanswered(
  outcome: Extract<WebOutcome, { kind: 'refused' | 'failed' }>,
  { isReading, before }: FailureOptions,
): ToolResult {
  if (outcome.kind === 'failed')
    throw lost(outcome.reason, { mayBeDone: before !== 'none' || (!isReading && outcome.wasSent === 'maybe') })
  if (before === 'maybe') throw lost(outcome.reason, { mayBeDone: true })
  return toolFailure(afterwards(outcome.reason, before))
}

/** A no that comes when something was done already, with the words for that. */
export function afterwards(refusal: string, before: Effect): string {
  if (before === 'none') return refusal
  return `It ${before === 'done' ? 'was' : 'may have been'} carried out, but then: ${refusal}`
}

/** An answer that says yes, and more than may be said. */
export function tooLong(status: number, { url, isReading, maxBytes }: TooLongOptions): ToolResult {
  const message = `The answer of ${url.host} is longer than ${sizeText(maxBytes)}.`
  return toolFailure(isReading ? `${message} Ask for less.` : `${message} It was carried out with status ${status}.`)
}

export interface TooLongOptions extends Pick<FailureOptions, 'url' | 'isReading'> {
  readonly maxBytes: number
}

/** An answer that says yes, and nobody here knows what else. */
export function unreadable(
  { reason, answer: { status } }: Pick<Extract<WebOutcome, { kind: 'unreadable' }>, 'reason' | 'answer'>,
  { isReading }: Pick<FailureOptions, 'isReading'>,
): ToolResult {
  return toolFailure(`${reason} It ${isReading ? 'answered' : 'was carried out'} with status ${status}.`)
}

/** Of a status that says "not now", the error it is; nothing for one that is an answer. */
export function passingFailure(
  { status, headers, receivedAt }: Pick<WebAnswer, 'status' | 'headers' | 'receivedAt'>,
  { isReading, before, said }: Omit<FailureOptions, 'url'> & { said(): string },
): AppError | undefined {
  if (!NOT_NOW.has(status) && status < 500) return undefined
  // What says no to everything says it again.
  if (status === 501 || status === 505) return undefined
  const retryAfterMs = parseRetryAfter(headers['retry-after'], receivedAt)
  const mayBeDone = before !== 'none' || (!isReading && !NOT_DONE.has(status))
  return lost(said(), { mayBeDone, status, retryAfterMs })
}

/** Too late, too early, too many (RFC 9110 §15.5.9, RFC 8470 §5.2, RFC 6585 §4). */
const NOT_NOW = new Set([408, 425, 429])
/** Whoever answers so has not begun. */
const NOT_DONE = new Set([...NOT_NOW, 503])

interface Loss {
  readonly mayBeDone: boolean
  readonly status?: number
  readonly retryAfterMs?: number | undefined
}

function lost(reason: string, { mayBeDone, status, retryAfterMs }: Loss): AppError {
  const details = { ...(status !== undefined && { status }), ...(retryAfterMs !== undefined && { retryAfterMs }) }
  if (!mayBeDone) return new AppError('DEPENDENCY_UNAVAILABLE', reason, { details })
  return new AppError('OUTCOME_UNKNOWN', `${reason} It may have been carried out. Look before you call it again.`, {
    details,
  })
}
