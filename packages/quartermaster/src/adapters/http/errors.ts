import { randomUUID } from 'node:crypto'
import { AppError, type ErrorKind, isAppError } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'

/** The HTTP status of each kind of error. */
export const STATUS = {
  invalid: 400,
  unauthenticated: 401,
  denied: 403,
  notFound: 404,
  conflict: 409,
  gone: 410,
  tooLarge: 413,
  consentRequired: 428,
  rateLimited: 429,
  cancelled: 499,
  internal: 500,
  unavailable: 503,
  timeout: 504,
} as const satisfies Record<ErrorKind, number>

/** An error as HTTP clients receive it (RFC 9457), with our code, kind and advice beside the standard members. */
export interface ProblemDocument {
  type: string
  title: string
  status: number
  detail: string
  code: string
  kind: string
  retry: string
  details?: Record<string, unknown>
}

/** The answer for an error. `status` is for the few that HTTP knows better than the kind does, such as 405. */
export function problemResponse(
  error: AppError,
  options: { status?: number; headers?: Record<string, string> } = {},
): Response {
  const status = options.status ?? STATUS[error.kind]
  const headers = { 'Content-Type': 'application/problem+json', ...headersFor(error), ...options.headers }
  return new Response(JSON.stringify(toProblem(error, status)), { status, headers })
}

/** Turns any thrown value into the error a client may see, and logs what it must not see. */
export type ErrorReporter = (error: unknown) => AppError

export function createErrorReporter({ log }: { log: Log }): ErrorReporter {
  return error => {
    if (isAppError(error) && !isWrappedUnknown(error) && isSerialisable(error.details)) return error
    const id = randomUUID()
    log.error('A request failed unexpectedly.', { id, error: stackOf(error) })
    return new AppError('INTERNAL', `Something went wrong inside. The log has the reason under ${id}.`, {
      details: { id },
    })
  }
}

function toProblem(error: AppError, status: number): ProblemDocument {
  const { code, kind, retry, message, details } = error
  const type = `urn:quartermaster:error:${code}`
  const problem = { type, title: titleOf(code), status, detail: message, code, kind, retry }
  return details === undefined ? problem : { ...problem, details }
}

/** `TOOL_NOT_FOUND` is "Tool not found". */
function titleOf(code: string): string {
  const words = code.toLowerCase().replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** RFC 9110 §15.5.2 demands a challenge with every 401; RFC 6585 §4 lets a 429 say when to come back, §15.6.4 a 503. */
function headersFor({ code, kind, details }: AppError): Record<string, string> {
  if (code === 'STOPPING') return { 'Retry-After': '1' }
  if (kind === 'rateLimited') return { 'Retry-After': String(details?.['retryAfterSeconds'] ?? 1) }
  return kind === 'unauthenticated' ? { 'WWW-Authenticate': 'Bearer realm="quartermaster"' } : {}
}

/** `toAppError` carries the text of what was thrown; that text was not written for a client. */
function isWrappedUnknown(error: AppError): boolean {
  return error.code === 'INTERNAL' && error.cause !== undefined
}

function isSerialisable(value: unknown): boolean {
  try {
    JSON.stringify(value)
    return true
  } catch {
    // A cycle or a bigint: such details cannot travel, whatever the reason.
    return false
  }
}

function stackOf(error: unknown): string {
  const inner = isAppError(error) ? (error.cause ?? error) : error
  return inner instanceof Error ? (inner.stack ?? inner.message) : String(inner)
}
