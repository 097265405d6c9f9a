import type { ErrorBody } from './primitives.ts'

/** What an error means on any transport. Each adapter translates a kind in its own `errors.ts`. */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'denied'
  | 'notFound'
  | 'conflict'
  | 'gone'
  | 'tooLarge'
  | 'consentRequired'
  | 'rateLimited'
  | 'cancelled'
  | 'internal'
  | 'unavailable'
  | 'timeout'

/** What a caller may do: nothing, the same again later, check first, or wait for a person. */
type RetryAdvice = 'never' | 'later' | 'verifyFirst' | 'afterApproval'

/** Every error code. `docs/reference/errors.md` explains each; a test checks both directions. */
export const ERRORS = {
  TOOL_NOT_FOUND: { kind: 'notFound', retry: 'never' },
  TOOL_DISABLED: { kind: 'unavailable', retry: 'later' },
  PROMPT_NOT_FOUND: { kind: 'notFound', retry: 'never' },
  RESOURCE_NOT_FOUND: { kind: 'notFound', retry: 'never' },
  READING_FAILED: { kind: 'internal', retry: 'later' },
  INPUT_INVALID: { kind: 'invalid', retry: 'never' },
  OUTPUT_INVALID: { kind: 'internal', retry: 'never' },
  CONSENT_REQUIRED: { kind: 'consentRequired', retry: 'afterApproval' },
  CONSENT_DENIED: { kind: 'denied', retry: 'never' },
  DEADLINE_EXCEEDED: { kind: 'timeout', retry: 'later' },
  CANCELLED: { kind: 'cancelled', retry: 'later' },
  DEPENDENCY_UNAVAILABLE: { kind: 'unavailable', retry: 'later' },
  DEPENDENCY_UNKNOWN: { kind: 'notFound', retry: 'never' },
  OUTCOME_UNKNOWN: { kind: 'unavailable', retry: 'verifyFirst' },
  UPSTREAM_ERROR: { kind: 'internal', retry: 'never' },
  ANSWER_UNAVAILABLE: { kind: 'unavailable', retry: 'never' },
  AGENT_NOT_FOUND: { kind: 'notFound', retry: 'never' },
  AGENT_INVALID: { kind: 'invalid', retry: 'never' },
  CAPABILITY_UNKNOWN: { kind: 'notFound', retry: 'never' },
  CONFIG_INVALID: { kind: 'invalid', retry: 'never' },
  DEFINITION_INVALID: { kind: 'invalid', retry: 'never' },
  NAME_UNKNOWN: { kind: 'notFound', retry: 'never' },
  NAME_AMBIGUOUS: { kind: 'invalid', retry: 'never' },
  NAME_TAKEN: { kind: 'conflict', retry: 'never' },
  RESULT_NOT_FOUND: { kind: 'notFound', retry: 'never' },
  TOKEN_INVALID: { kind: 'unauthenticated', retry: 'never' },
  LOGIN_FAILED: { kind: 'denied', retry: 'later' },
  REQUEST_REFUSED: { kind: 'denied', retry: 'never' },
  CURSOR_GONE: { kind: 'gone', retry: 'never' },
  EDIT_CONFLICT: { kind: 'conflict', retry: 'later' },
  IDEMPOTENCY_CONFLICT: { kind: 'conflict', retry: 'never' },
  LIMIT_EXCEEDED: { kind: 'tooLarge', retry: 'never' },
  RATE_LIMITED: { kind: 'rateLimited', retry: 'later' },
  PEER_NOT_FOUND: { kind: 'notFound', retry: 'never' },
  DELEGATION_LOOP: { kind: 'conflict', retry: 'never' },
  DELEGATION_ENDED: { kind: 'conflict', retry: 'never' },
  STORE_LOCKED: { kind: 'conflict', retry: 'later' },
  STORE_BUSY: { kind: 'rateLimited', retry: 'later' },
  STORE_UNAVAILABLE: { kind: 'unavailable', retry: 'later' },
  STOPPING: { kind: 'unavailable', retry: 'later' },
  INTERNAL: { kind: 'internal', retry: 'later' },
} as const satisfies Record<string, { kind: ErrorKind; retry: RetryAdvice }>

export type ErrorCode = keyof typeof ERRORS

const PREDICATE = /^(?:must|is|are|has|have|fits|cannot)\b/

/** `dirs.0 must be a string.`: an issue as a sentence. */
export function issueText({
  path,
  message,
}: {
  readonly path: readonly PropertyKey[]
  readonly message: string
}): string {
  const text = /[.!?]$/.test(message) ? message : `${message}.`
  if (path.length === 0) return PREDICATE.test(text) ? `The value ${text}` : text
  return `${path.map(String).join('.')}${PREDICATE.test(text) ? '' : ':'} ${text}`
}

interface AppErrorOptions {
  cause?: unknown
  /** Facts for programs, safe to show: names, times, limits. Never a secret. */
  details?: Record<string, unknown>
}

const BRAND = Symbol.for('quartermaster.AppError')

/** The only error class we throw. Compare `code`, never the message. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly details: Record<string, unknown> | undefined

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    // Untyped code may invent a code, and must not break the error handling.
    const isKnown = isErrorCode(code)
    super(isKnown ? message : `${code}: ${message}`, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'AppError'
    this.code = isKnown ? code : 'INTERNAL'
    this.details = options.details
    Object.defineProperty(this, BRAND, { value: true })
  }

  get kind(): ErrorKind {
    return ERRORS[this.code].kind
  }

  get retry(): RetryAdvice {
    return ERRORS[this.code].retry
  }

  toJSON(): ErrorBody {
    const { code, kind, retry, message, details } = this
    return details === undefined ? { code, kind, retry, message } : { code, kind, retry, message, details }
  }

  /** The error that another process sent. */
  static fromJSON(body: ErrorBody): AppError {
    return new AppError(
      body.code as ErrorCode,
      body.message,
      body.details === undefined ? {} : { details: body.details },
    )
  }
}

/** The error in a value that another process sent, if it is one. */
export function parseAppError(value: unknown): AppError | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { code, kind, retry, message, details } = value as Partial<Record<keyof ErrorBody, unknown>>
  if (![code, kind, retry, message].every(text => typeof text === 'string')) return undefined
  const hasDetails = typeof details === 'object' && details !== null && !Array.isArray(details)
  if (details !== undefined && !hasDetails) return undefined
  return AppError.fromJSON({ code, kind, retry, message, details } as ErrorBody)
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(ERRORS, code)
}

/** Whether this is an `AppError`. By brand, so that an error of a second loaded copy is recognised. */
export function isAppError(error: unknown): error is AppError {
  try {
    return error instanceof Error && BRAND in error && isErrorCode((error as { code?: unknown }).code)
  } catch {
    // A proxy that throws on access is no `AppError`.
    return false
  }
}

/** Any thrown value as an `AppError`. Anything else becomes `INTERNAL`. */
export function toAppError(error: unknown): AppError {
  if (isAppError(error)) return error
  return new AppError('INTERNAL', messageOf(error), { cause: error })
}

/** The stack of any thrown value, or its text, for the author of the code that threw. */
export function stackOf(error: unknown): string {
  try {
    return error instanceof Error && typeof error.stack === 'string' ? error.stack : messageOf(error)
  } catch {
    return messageOf(error)
  }
}

/** The message of any thrown value. Never throws. */
export function messageOf(error: unknown): string {
  try {
    const text = error instanceof Error ? error.message : error
    return typeof text === 'string' ? text : String(text)
  } catch {
    // A getter that throws, or an object without a prototype.
    return 'something that cannot be shown'
  }
}
