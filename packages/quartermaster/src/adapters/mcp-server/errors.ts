import type { CallToolResult } from '@modelcontextprotocol/server'
import { MissingRequiredClientCapabilityError, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { isAppError, toAppError } from '../../contracts/index.ts'
import { errorResult } from '../../core/kernel/index.ts'
import type { McpRequest } from './mcp-request.ts'

/** What could not be run, as a result. */
export function toErrorResult(error: unknown, options: { isBare?: boolean } = {}): CallToolResult {
  return errorResult(toAppError(error), options) as CallToolResult
}

/** An error of the request itself: what does not exist is the client's mistake, and no tool's answer. */
export function toProtocolError(thrown: unknown): ProtocolError {
  const error = toAppError(thrown)
  const isClients = error.kind === 'notFound' || error.kind === 'invalid' || error.kind === 'gone'
  const code = isClients ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError
  return new ProtocolError(code, error.message, error.toJSON())
}

/** From 2026-07-28 on, a question that the client cannot answer is told as what the client would have to be able to do. */
export function missingCapability(error: unknown, { isModern }: McpRequest): ProtocolError | undefined {
  if (error instanceof MissingRequiredClientCapabilityError) return error
  const needed = isAppError(error) && error.code === 'ANSWER_UNAVAILABLE' && error.details?.requiredCapabilities
  if (!isModern || !needed) return undefined
  return new MissingRequiredClientCapabilityError({ requiredCapabilities: needed }, error.message)
}

/** What went wrong with a prompt or a resource. There is no result to carry it, so it is an error of the request. */
export function readingError(error: unknown, request: McpRequest): ProtocolError {
  return missingCapability(error, request) ?? (error instanceof ProtocolError ? error : toProtocolError(error))
}

/** Does it, and tells our errors as those of the request. */
export function orProtocolError<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw isAppError(error) ? toProtocolError(error) : error
  }
}

/** An error as it stands in a JSON-RPC answer, with the status it is sent with. */
export function toJsonRpcError(thrown: unknown): { code: number; message: string; data?: unknown; status: number } {
  const error = thrown instanceof ProtocolError ? thrown : toProtocolError(thrown)
  const { code, message, data } = error
  // What a client would have to be able to do is told before anything is done, and so refused as a request.
  const status = error instanceof MissingRequiredClientCapabilityError ? 400 : 200
  return data === undefined ? { code, message, status } : { code, message, data, status }
}
