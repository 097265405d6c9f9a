import { type AppError, type ErrorKind, isAppError } from '../../contracts/index.ts'

/** The errors that the specification names (A2A 1.0 §3.3.2), as each binding encodes them (§5.4). */
const REFUSALS = {
  TASK_NOT_FOUND: { rpc: -32_001, status: 404, grpc: 'NOT_FOUND' },
  TASK_NOT_CANCELABLE: { rpc: -32_002, status: 400, grpc: 'FAILED_PRECONDITION' },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { rpc: -32_003, status: 400, grpc: 'FAILED_PRECONDITION' },
  UNSUPPORTED_OPERATION: { rpc: -32_004, status: 400, grpc: 'FAILED_PRECONDITION' },
  CONTENT_TYPE_NOT_SUPPORTED: { rpc: -32_005, status: 400, grpc: 'INVALID_ARGUMENT' },
  VERSION_NOT_SUPPORTED: { rpc: -32_009, status: 400, grpc: 'FAILED_PRECONDITION' },
  METHOD_NOT_FOUND: { rpc: -32_601, status: 404, grpc: 'NOT_FOUND' },
  METHOD_NOT_ALLOWED: { rpc: -32_601, status: 405, grpc: 'UNIMPLEMENTED' },
  INVALID_REQUEST: { rpc: -32_600, status: 400, grpc: 'INVALID_ARGUMENT' },
  PARSE_ERROR: { rpc: -32_700, status: 400, grpc: 'INVALID_ARGUMENT' },
} as const satisfies Record<string, Codes>

/** JSON-RPC's code for server errors; lower codes belong to the specification (§9.5). The reason tells them apart. */
const SERVER_ERROR = -32_000

/** All other errors, by kind. */
const KINDS = {
  invalid: { rpc: -32_602, status: 400, grpc: 'INVALID_ARGUMENT' },
  unauthenticated: { rpc: SERVER_ERROR, status: 401, grpc: 'UNAUTHENTICATED' },
  denied: { rpc: SERVER_ERROR, status: 403, grpc: 'PERMISSION_DENIED' },
  notFound: { rpc: SERVER_ERROR, status: 404, grpc: 'NOT_FOUND' },
  conflict: { rpc: SERVER_ERROR, status: 409, grpc: 'ABORTED' },
  gone: { rpc: -32_602, status: 400, grpc: 'OUT_OF_RANGE' },
  tooLarge: { rpc: -32_602, status: 413, grpc: 'RESOURCE_EXHAUSTED' },
  consentRequired: { rpc: SERVER_ERROR, status: 403, grpc: 'FAILED_PRECONDITION' },
  rateLimited: { rpc: SERVER_ERROR, status: 429, grpc: 'RESOURCE_EXHAUSTED' },
  cancelled: { rpc: -32_603, status: 499, grpc: 'CANCELLED' },
  internal: { rpc: -32_603, status: 500, grpc: 'INTERNAL' },
  unavailable: { rpc: -32_603, status: 503, grpc: 'UNAVAILABLE' },
  timeout: { rpc: -32_603, status: 504, grpc: 'DEADLINE_EXCEEDED' },
} as const satisfies Record<ErrorKind, Codes>

interface Codes {
  readonly rpc: number
  readonly status: number
  readonly grpc: string
}

type Refused = keyof typeof REFUSALS

export class Refusal extends Error {
  readonly reason: Refused
  readonly headers: Readonly<Record<string, string>>

  constructor(reason: Refused, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.reason = reason
    this.headers = headers
  }
}

/** An error as a client receives it. */
export interface Fault extends Codes {
  readonly message: string
  readonly details: readonly [ErrorInfo]
  readonly headers: Readonly<Record<string, string>>
}

interface ErrorInfo {
  readonly '@type': string
  readonly reason: string
  readonly domain: string
}

/** Converts anything thrown. `internal` logs what a client must not see. */
export function faultOf(error: unknown, internal: (error: unknown) => AppError): Fault {
  if (error instanceof Refusal) {
    const { reason, message, headers } = error
    return { ...REFUSALS[reason], message, details: [info(reason, 'a2a-protocol.org')], headers }
  }
  const known = isAppError(error) && error.code !== 'INTERNAL' ? error : internal(error)
  const { kind, code, message } = known
  // Invalid requests have a name in the specification too (§9.5).
  const details = kind === 'invalid' ? info('INVALID_PARAMS', 'a2a-protocol.org') : info(code, 'quartermaster')
  return { ...KINDS[kind], message, details: [details], headers: headersFor(known) }
}

function info(reason: string, domain: string): ErrorInfo {
  return { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain }
}

function headersFor({ kind, details }: AppError): Record<string, string> {
  if (kind === 'rateLimited') return { 'Retry-After': String(details?.['retryAfterSeconds'] ?? 1) }
  return kind === 'unauthenticated' ? { 'WWW-Authenticate': 'Bearer realm="quartermaster"' } : {}
}

/** The JSON-RPC form (§9.5). */
export function rpcError({ rpc: code, message, details: data }: Fault): object {
  return { code, message, data }
}

/** The HTTP+JSON form (§11.6): `google.rpc.Status`. */
export function restError({ status: code, grpc: status, message, details }: Fault): object {
  return { error: { code, status, message, details } }
}
