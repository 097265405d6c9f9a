import type { CallToolResult } from '@modelcontextprotocol/server'
import { MissingRequiredClientCapabilityError, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { isAppError, toAppError } from '../../contracts/index.ts'
import { errorResult } from '../../core/kernel/index.ts'
import type { McpRequest } from './mcp-request.ts'

/** An error as a tool result. */
export function toErrorResult(error: unknown, options: { isBare?: boolean } = {}): CallToolResult {
  return errorResult(toAppError(error), options) as CallToolResult
}

/** An error of the request itself. What does not exist is the client's mistake, not a tool's answer. */
export function toProtocolError(thrown: unknown): ProtocolError {
  const error = toAppError(thrown)
  const isClients = error.kind === 'notFound' || error.kind === 'invalid' || error.kind === 'gone'
  const code = isClients ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError
  return new ProtocolError(code, error.message, error.toJSON())
}

/** A question the client cannot answer is, in the modern era, an error that names the missing client capability. */
export function missingCapability(error: unknown, { isModern }: McpRequest): ProtocolError | undefined {
  if (error instanceof MissingRequiredClientCapabilityError) return error
  const needed = isAppError(error) && error.code === 'ANSWER_UNAVAILABLE' && error.details?.requiredCapabilities
  if (!isModern || !needed) return undefined
  return new MissingRequiredClientCapabilityError({ requiredCapabilities: needed }, error.message)
}

/** A failed prompt or resource read. There is no result to carry the error, so it is an error of the request. */
export function readingError(error: unknown, request: McpRequest): ProtocolError {
  return missingCapability(error, request) ?? (error instanceof ProtocolError ? error : toProtocolError(error))
}

/** Runs the work and converts our errors to errors of the request. */
export function withProtocolErrors<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw isAppError(error) ? toProtocolError(error) : error
  }
}

/** An error in a JSON-RPC answer, with its HTTP status. */
export function toJsonRpcError(thrown: unknown): { code: number; message: string; data?: unknown; status: number } {
  const error = thrown instanceof ProtocolError ? thrown : toProtocolError(thrown)
  const { code, message, data } = error
  // A missing client capability is known before anything ran, so the request is rejected as a whole.
  const status = error instanceof MissingRequiredClientCapabilityError ? 400 : 200
  return data === undefined ? { code, message, status } : { code, message, data, status }
}
