import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { AppError, ErrorBody, isAppError, messageOf, type ToolResult } from '../../contracts/index.ts'
import { errorResult } from '../../core/kernel/index.ts'

/** Failures by which it is certain that nothing was sent. */
const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

export interface Errand {
  readonly url: URL
  /** Whether it may have changed something. */
  readonly isCall: boolean
  readonly signal?: AbortSignal | undefined
}

/** What went wrong on the way to `up` and back, as the error that a toolbox in its process would raise. */
export function toolboxError(thrown: unknown, { url, isCall, signal }: Errand): AppError {
  if (isAppError(thrown)) return thrown
  if (signal?.aborted) return new AppError('CANCELLED', 'The call was cancelled.', { cause: thrown })
  const told = thrown instanceof ProtocolError ? ErrorBody.safeParse(thrown.data) : undefined
  if (told?.success) return AppError.fromJSON(told.data)
  if (thrown instanceof ProtocolError) return new AppError('REQUEST_REFUSED', thrown.message, { cause: thrown })
  if (thrown instanceof UnauthorizedError || (thrown instanceof SdkHttpError && thrown.status === 401))
    return new AppError(
      'TOKEN_INVALID',
      `${url.href} does not take this token. Make one: quartermaster tokens create AGENT.`,
    )
  const cause = messageOf(thrown)
  if (!isCall || NOT_SENT.has(codeOf(thrown))) {
    const message = `Nobody answers at ${url.href}. Start it: quartermaster up. (${cause})`
    return new AppError('DEPENDENCY_UNAVAILABLE', message, { cause: thrown })
  }
  return new AppError('OUTCOME_UNKNOWN', `${url.href} gave no answer, and may have done what was asked. (${cause})`, {
    cause: thrown,
  })
}

/** A tool that had to ask where nobody answers. On the wire that is an error of the client; here it is what the model reads. */
export function unanswered(thrown: unknown): ToolResult {
  if (!(thrown instanceof MissingRequiredClientCapabilityError)) throw thrown
  return errorResult(new AppError('ANSWER_UNAVAILABLE', thrown.message))
}

/** Node wraps what really happened. */
function codeOf(thrown: unknown): string {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    const { code } = error as { code?: unknown }
    if (typeof code === 'string' && NOT_SENT.has(code)) return code
  }
  return ''
}
