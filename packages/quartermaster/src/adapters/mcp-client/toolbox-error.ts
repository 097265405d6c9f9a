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
import { parseErrorResponse, withoutContinuation } from '../../core/kernel/index.ts'

/** Connection errors after which certainly nothing was sent. */
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

/** A request, as far as its errors depend on it. */
export interface RequestFacts {
  readonly url: URL
  /** A tool call: it may have changed something. */
  readonly isCall: boolean
  /** The first request of a connection: the server may be something else than an `up`. */
  readonly isFirst?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** A failed request as the error that an in-process toolbox would raise. */
export function toolboxError(thrown: unknown, request: RequestFacts): AppError {
  if (isAppError(thrown)) return thrown
  if (request.signal?.aborted) return new AppError('CANCELLED', 'The call was cancelled.', { cause: thrown })
  if (thrown instanceof ProtocolError) return protocolError(thrown)
  if (thrown instanceof UnauthorizedError) return tokenRefused(request)
  if (thrown instanceof SdkHttpError) return refusal(thrown, request)
  if (isNoResult(thrown)) return unreadable(thrown, request)
  return lost(messageOf(thrown), thrown, request)
}

function protocolError(thrown: ProtocolError): AppError {
  const body = ErrorBody.safeParse(thrown.data)
  return body.success
    ? AppError.fromJSON(body.data)
    : new AppError('REQUEST_REFUSED', thrown.message, { cause: thrown })
}

function tokenRefused({ url }: RequestFacts): AppError {
  const message = `${url.href} does not take this token. Make one: quartermaster tokens create AGENT.`
  return new AppError('TOKEN_INVALID', message)
}

/** HTTP statuses of a refusal by a proxy or gateway in between, which has none of our codes. */
const REFUSED: Readonly<Record<number, ErrorCode>> = {
  408: 'DEPENDENCY_UNAVAILABLE',
  413: 'LIMIT_EXCEEDED',
  425: 'DEPENDENCY_UNAVAILABLE',
  429: 'RATE_LIMITED',
}

/** An HTTP answer that is no MCP answer. */
function refusal(thrown: SdkHttpError, request: RequestFacts): AppError {
  const { status } = thrown
  const { href } = request.url
  if (status === 401) return tokenRefused(request)
  const isElsewhere = status === 404 || status === 405 || status < 400
  const error = parseErrorResponse(jsonIn(thrown.data.text))
  if (error && !(request.isFirst && isElsewhere)) return error
  // A server that failed may have executed the call.
  if (status >= 500) return lost(`HTTP ${status}`, thrown, request)
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

/** An invalid MCP result. Its list of schema issues only helps the authors, so it stays in the cause. */
function unreadable(cause: SdkError, { url, isCall }: RequestFacts): AppError {
  const what = `${url.href} sent an invalid MCP result`
  if (!isCall) return new AppError('OUTPUT_INVALID', `${what}.`, { cause })
  const details = { because: 'OUTPUT_INVALID' }
  return new AppError('OUTCOME_UNKNOWN', `${what}, and may have executed the call.`, { cause, details })
}

function lost(why: string, cause: unknown, { url, isCall }: RequestFacts): AppError {
  if (!isCall || NOT_SENT.has(codeOf(cause))) {
    const message = `No server answers at ${url.href}. Start it: quartermaster up. (${why})`
    return new AppError('DEPENDENCY_UNAVAILABLE', message, { cause })
  }
  const message = `${url.href} did not answer, and may have executed the call. (${why})`
  return new AppError('OUTCOME_UNKNOWN', message, { cause })
}

/** The error of a tool whose question no person can answer, worded for the model as by an in-process toolbox. */
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
    // Not JSON.
    return undefined
  }
}

/** Node wraps the error with the code. */
function codeOf(thrown: unknown): string {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const { code } = error as { code?: unknown }
    if (typeof code === 'string' && NOT_SENT.has(code)) return code
  }
  return ''
}

/** Keys that the gateway and the protocol add to `_meta`, besides those of the tool. */
const TRANSPORT_META = /^(quartermaster|io\.modelcontextprotocol)\//

/** Converts a tool result to the form that a local caller gets. Throws the error of a call that did not run. */
export function toCallAnswer({ _meta: meta = {}, resultType: _kind, ...result }: ToolResult): CallAnswer {
  const error = ErrorBody.safeParse(meta['quartermaster/error'])
  if (result.isError && error.success) throw AppError.fromJSON(error.data)
  const operationId = String(meta['quartermaster/operationId'] ?? '')
  const waiting = WaitingHandle.safeParse(meta['quartermaster/waiting'])
  if (waiting.success) return { operationId, result: { content: result.content }, waiting: waiting.data }
  const own = Object.entries(meta).filter(([key]) => !TRANSPORT_META.test(key))
  const plain = own.length === 0 ? result : { ...result, _meta: Object.fromEntries(own) }
  const kept = KeptResult.safeParse(meta[KEPT_META])
  if (!kept.success) return { operationId, result: plain }
  // The link to the rest repeats `kept`, for clients that read only the content.
  return { operationId, result: { ...plain, content: withoutContinuation(plain.content) }, kept: kept.data }
}
