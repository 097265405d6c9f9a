import { AppError, type ErrorKind, toAppError } from '../../contracts/index.ts'
import { errorResult } from '../../core/kernel/index.ts'
import type { Id, Request, Response } from '../mcp-wire/index.ts'
import { claimedVersion } from '../mcp-wire/index.ts'

/** JSON-RPC 2.0 §5.1: the range that is left to servers. */
const SERVER_ERROR = -32_000
const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600

/** The answer to a request that could not be forwarded: a result for a tool call, which the model reads; otherwise an error. */
export function failureAnswer(request: Request, error: unknown): Response {
  const { id, method, params } = request
  const failed = toAppError(error)
  if (method !== 'tools/call')
    return { jsonrpc: '2.0', id, error: { code: SERVER_ERROR, message: failed.message, data: failed.toJSON() } }
  // Bare: the tool's output schema is unknown here.
  const result = errorResult(failed, { isBare: true })
  return { jsonrpc: '2.0', id, result: claimedVersion(params) ? { resultType: 'complete', ...result } : result }
}

export function notUnderstood(): Response {
  return { jsonrpc: '2.0', id: null, error: { code: PARSE_ERROR, message: 'This line is not one JSON-RPC message.' } }
}

/** The answer to a line that is too long. Clients write the id first or last, so it is found there. */
export function tooLong({ head, tail }: { head: string; tail: string }, maxBytes: number): Response {
  const found = /^\{(?:"jsonrpc":"2\.0",)?"id":(\d+|"[^"\\]*"),/.exec(head) ?? /,"id":(\d+|"[^"\\]*")\}\s*$/.exec(tail)
  const id = found?.[1] === undefined ? null : (JSON.parse(found[1]) as Id)
  const error = new AppError('LIMIT_EXCEEDED', `A message has at most ${maxBytes} bytes. Send less at once.`)
  return { jsonrpc: '2.0', id, error: { code: INVALID_REQUEST, message: error.message, data: error.toJSON() } }
}

/** The request was sent and no answer came, so it may have run. The reason says why it could not be sent again. */
export function outcomeUnknown({ method, params }: Request, reason?: unknown): AppError {
  const what = method === 'tools/call' ? `the call of "${String(params?.name)}"` : `"${method}"`
  const lost = `The connection to Quartermaster was lost during ${what}, and it may have happened.`
  const why = reason === undefined ? '' : ` ${toAppError(reason).message}`
  return new AppError('OUTCOME_UNKNOWN', `${lost}${why} Look at what it changes before you try again.`)
}

/** No gateway was found while the request was held. */
export function notBack(reason: AppError, { command, heldMs }: { command: string; heldMs: number }): AppError {
  const message = `Quartermaster was not reached within ${heldMs / 1_000} seconds. Start it: ${command}`
  return new AppError('DEPENDENCY_UNAVAILABLE', message, { cause: reason })
}

/** An HTTP answer that is no MCP answer. */
export function strangeAnswer(status: number): AppError {
  return new AppError(
    'DEPENDENCY_UNAVAILABLE',
    `Quartermaster answered with HTTP ${status} and nothing else. See what is wrong: quartermaster doctor`,
  )
}

const PASSING: ReadonlySet<ErrorKind> = new Set(['unavailable', 'timeout', 'conflict', 'rateLimited'])

/** Whether a retry can help without a person fixing something. */
export function isPassing(error: unknown): boolean {
  return PASSING.has(toAppError(error).kind)
}
