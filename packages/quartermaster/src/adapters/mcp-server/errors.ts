import type { CallToolResult } from '@modelcontextprotocol/server'
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { type AppError, type ErrorKind, toAppError } from '../../contracts/index.ts'

/** What the model is told to do next, by what went wrong. */
const NEXT_STEP = {
  invalid: 'Correct the arguments and call again.',
  unauthenticated: 'A person has to renew the credential.',
  denied: 'Do not try again; tell the person.',
  notFound: 'List the tools again and choose one that is there.',
  conflict: 'Look at the present state before you try again.',
  gone: 'Start over from the beginning.',
  tooLarge: 'Ask for less.',
  consentRequired: 'A person has to allow it first. Say what you want to do and wait.',
  rateLimited: 'Wait before you try again.',
  cancelled: 'Call again if it is still needed.',
  internal: 'Try something else; a person has to look into it.',
  unavailable: 'Try again later or use another tool.',
  timeout: 'Ask for less, or try again later.',
} as const satisfies Record<ErrorKind, string>

/** An error as a result that the model can read and a program can recognise. */
export function toErrorResult(error: unknown): CallToolResult {
  const body = toAppError(error).toJSON()
  const text = `${body.code}: ${body.message} ${NEXT_STEP[body.kind as ErrorKind]}`
  const facts = { ...body }
  return {
    content: [{ type: 'text', text }],
    structuredContent: { error: facts },
    isError: true,
    _meta: { 'quartermaster/error': facts },
  }
}

/** An error of the request itself: an unknown tool is the client's mistake, not a tool's answer. */
export function toProtocolError(error: AppError): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, error.message, error.toJSON())
}
