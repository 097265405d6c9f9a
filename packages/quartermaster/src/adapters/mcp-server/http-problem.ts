import { AppError, type ErrorKind, toAppError } from '../../contracts/index.ts'

/** An error before MCP begins: a JSON-RPC error, because that is what such clients read, with our facts in its data. */
export function problem(
  error: AppError,
  status: number,
  headers: Record<string, string> = {},
  id: string | number | null = null,
): Response {
  const code = error.kind === 'invalid' ? PARSE_ERROR : REFUSED
  const body = { jsonrpc: '2.0', id, error: { code, message: error.message, data: error.toJSON() } }
  const retry = error.kind === 'rateLimited' || error.code === 'STOPPING' ? { 'retry-after': '1' } : {}
  return Response.json(body, { status, headers: { ...retry, ...headers } })
}

/** The answer for whatever kept a request from being served. What is not the client's doing is not told to it. */
export function failureResponse(error: unknown, onInternal: (error: AppError) => void): Response {
  const failure = toAppError(error)
  const status = failure.code === 'STOPPING' ? 503 : STATUS[failure.kind]
  if (status !== undefined) return problem(failure, status)
  onInternal(failure)
  return problem(new AppError('INTERNAL', 'Something went wrong inside.'), 500)
}

const PARSE_ERROR = -32700
const REFUSED = -32000

const STATUS: Partial<Record<ErrorKind, number>> = { invalid: 400, tooLarge: 413, rateLimited: 429, cancelled: 499 }
