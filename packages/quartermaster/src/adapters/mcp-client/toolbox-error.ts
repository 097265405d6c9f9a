import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import {
  AppError,
  type CallAnswer,
  ErrorBody,
  type ErrorCode,
  isAppError,
  KEPT_META,
  KeptResult,
  messageOf,
  type ToolResult,
  WaitingHandle,
} from '../../contracts/index.ts'
import { toldError, withoutRest } from '../../core/kernel/index.ts'

/** Failures by which it is certain that nothing was sent. */
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

export interface Errand {
  readonly url: URL
  /** Whether it may have changed something. */
  readonly isCall: boolean
  /** Whether it is the first request: which server answers there is not known yet. */
  readonly isFirst?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** What went wrong on the way to `up` and back, as the error that a toolbox in its process would raise. */
export function toolboxError(thrown: unknown, errand: Errand): AppError {
  if (isAppError(thrown)) return thrown
  if (errand.signal?.aborted) return new AppError('CANCELLED', 'The call was cancelled.', { cause: thrown })
  if (thrown instanceof ProtocolError) return protocolError(thrown)
  if (thrown instanceof UnauthorizedError) return tokenRefused(errand)
  if (thrown instanceof SdkHttpError) return refusal(thrown, errand)
  if (isNoResult(thrown)) return unreadable(thrown, errand)
  return lost(messageOf(thrown), thrown, errand)
}

function protocolError(thrown: ProtocolError): AppError {
  const told = ErrorBody.safeParse(thrown.data)
  return told.success
    ? AppError.fromJSON(told.data)
    : new AppError('REQUEST_REFUSED', thrown.message, { cause: thrown })
}

function tokenRefused({ url }: Errand): AppError {
  const message = `${url.href} does not take this token. Make one: quartermaster tokens create AGENT.`
  return new AppError('TOKEN_INVALID', message)
}

/** Codes of what was refused before anything was done, by those who have no code of ours for it: whatever stands in between. */
const REFUSED: Readonly<Record<number, ErrorCode>> = {
  408: 'DEPENDENCY_UNAVAILABLE',
  413: 'LIMIT_EXCEEDED',
  425: 'DEPENDENCY_UNAVAILABLE',
  429: 'RATE_LIMITED',
}

/** An answer of HTTP and none of MCP. */
function refusal(thrown: SdkHttpError, errand: Errand): AppError {
  const { status } = thrown
  const { href } = errand.url
  if (status === 401) return tokenRefused(errand)
  const isElsewhere = status === 404 || status === 405 || status < 400
  const told = toldError(jsonIn(thrown.data.text))
  if (told && !(errand.isFirst && isElsewhere)) return told
  // A server that failed may have been in the middle of it.
  if (status >= 500) return lost(`HTTP ${status}`, thrown, errand)
  const code = REFUSED[status] ?? 'REQUEST_REFUSED'
  const what = isElsewhere
    ? `${href} is no address for MCP (HTTP ${status}). Use the mcpUrl that "quartermaster up" prints.`
    : `${href} refuses this (HTTP ${status}), and nothing was done.`
  return new AppError(code, what, { cause: thrown })
}

function isNoResult(thrown: unknown): thrown is SdkError {
  if (!(thrown instanceof SdkError)) return false
  return thrown.code === SdkErrorCode.InvalidResult || thrown.code === SdkErrorCode.UnsupportedResultType
}

/** It was answered. What does not fit is a list of many lines, useful only to the authors of either side. */
function unreadable(cause: SdkError, { url, isCall }: Errand): AppError {
  const what = `${url.href} answered what is no result of MCP`
  if (!isCall) return new AppError('OUTPUT_INVALID', `${what}.`, { cause })
  const details = { because: 'OUTPUT_INVALID' }
  return new AppError('OUTCOME_UNKNOWN', `${what}, and may have done what was asked.`, { cause, details })
}

function lost(why: string, cause: unknown, { url, isCall }: Errand): AppError {
  if (!isCall || NOT_SENT.has(codeOf(cause))) {
    const message = `No server answers at ${url.href}. Start it: quartermaster up. (${why})`
    return new AppError('DEPENDENCY_UNAVAILABLE', message, { cause })
  }
  const message = `${url.href} gave no answer, and may have done what was asked. (${why})`
  return new AppError('OUTCOME_UNKNOWN', message, { cause })
}

/**
 * The error of a tool that asked a question where no person can answer, worded as by an in-process toolbox. On the wire that is an error
 * of the client; here it is what the model reads.
 */
export function unanswered(thrown: unknown, tool: string): AppError | undefined {
  if (!(thrown instanceof MissingRequiredClientCapabilityError)) return undefined
  const question = /: ("[^]*")$/.exec(thrown.message)?.[1]
  const message =
    question === undefined
      ? thrown.message
      : `"${tool}" has a question, and no person is there to answer it: ${question}`
  return new AppError('ANSWER_UNAVAILABLE', message)
}

export function jsonIn(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined
  } catch {
    // Text that is not JSON has no question in it.
    return undefined
  }
}

/** Node wraps what really happened. */
function codeOf(thrown: unknown): string {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const { code } = error as { code?: unknown }
    if (typeof code === 'string' && NOT_SENT.has(code)) return code
  }
  return ''
}

/** What the way of a result puts around it; a tool has no say in that. */
const OF_THE_WAY = /^(quartermaster|io\.modelcontextprotocol)\//

/** The answer of a call in the form that a local caller gets. Throws what could not be run. */
export function toCallAnswer({ _meta: meta = {}, resultType: _kind, ...result }: ToolResult): CallAnswer {
  const error = ErrorBody.safeParse(meta['quartermaster/error'])
  if (result.isError && error.success) throw AppError.fromJSON(error.data)
  const operationId = String(meta['quartermaster/operationId'] ?? '')
  const waiting = WaitingHandle.safeParse(meta['quartermaster/waiting'])
  if (waiting.success) return { operationId, result: { content: result.content }, waiting: waiting.data }
  const own = Object.entries(meta).filter(([key]) => !OF_THE_WAY.test(key))
  const told = own.length === 0 ? result : { ...result, _meta: Object.fromEntries(own) }
  const kept = KeptResult.safeParse(meta[KEPT_META])
  if (!kept.success) return { operationId, result: told }
  // Where it goes on is said once more at its end, for those who read nothing else.
  return { operationId, result: { ...told, content: withoutRest(told.content) }, kept: kept.data }
}
