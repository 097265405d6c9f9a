import { type AppError, type ErrorKind, isAppError } from '../../contracts/index.ts'

/** What the specification has a name for (A2A 1.0 §3.3.2), as each binding says it (§5.4). */
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
} as const satisfies Record<string, Signs>

/** What JSON-RPC leaves to servers; the codes below it are those of the specification (§9.5). The reason says which it is. */
const OF_THIS_SERVER = -32_000

/** All other errors, by what they mean. */
const KINDS = {
  invalid: { rpc: -32_602, status: 400, grpc: 'INVALID_ARGUMENT' },
  unauthenticated: { rpc: OF_THIS_SERVER, status: 401, grpc: 'UNAUTHENTICATED' },
  denied: { rpc: OF_THIS_SERVER, status: 403, grpc: 'PERMISSION_DENIED' },
  notFound: { rpc: OF_THIS_SERVER, status: 404, grpc: 'NOT_FOUND' },
  conflict: { rpc: OF_THIS_SERVER, status: 409, grpc: 'ABORTED' },
  gone: { rpc: -32_602, status: 400, grpc: 'OUT_OF_RANGE' },
  tooLarge: { rpc: -32_602, status: 413, grpc: 'RESOURCE_EXHAUSTED' },
  consentRequired: { rpc: OF_THIS_SERVER, status: 403, grpc: 'FAILED_PRECONDITION' },
  rateLimited: { rpc: OF_THIS_SERVER, status: 429, grpc: 'RESOURCE_EXHAUSTED' },
  cancelled: { rpc: -32_603, status: 499, grpc: 'CANCELLED' },
  internal: { rpc: -32_603, status: 500, grpc: 'INTERNAL' },
  unavailable: { rpc: -32_603, status: 503, grpc: 'UNAVAILABLE' },
  timeout: { rpc: -32_603, status: 504, grpc: 'DEADLINE_EXCEEDED' },
} as const satisfies Record<ErrorKind, Signs>

/** How an error looks in each binding. */
interface Signs {
  readonly rpc: number
  readonly status: number
  readonly grpc: string
}

type Refused = keyof typeof REFUSALS

/** An error that the specification itself names. */
export class Refusal extends Error {
  readonly reason: Refused
  readonly headers: Readonly<Record<string, string>>

  constructor(reason: Refused, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.reason = reason
    this.headers = headers
  }
}

/** An error as a client gets it. */
export interface Fault extends Signs {
  readonly message: string
  readonly details: readonly [ErrorInfo]
  readonly headers: Readonly<Record<string, string>>
}

interface ErrorInfo {
  readonly '@type': string
  readonly reason: string
  readonly domain: string
}

/** Whatever was thrown, as a client may see it. `internal` logs what it may not. */
export function faultOf(error: unknown, internal: (error: unknown) => AppError): Fault {
  if (error instanceof Refusal) {
    const { reason, message, headers } = error
    return { ...REFUSALS[reason], message, details: [info(reason, 'a2a-protocol.org')], headers }
  }
  const known = isAppError(error) && error.code !== 'INTERNAL' ? error : internal(error)
  const { kind, code, message } = known
  // What is wrong with a request has a name there too (§9.5).
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

/** As JSON-RPC has it (§9.5). */
export function rpcError({ rpc: code, message, details: data }: Fault): object {
  return { code, message, data }
}

/** As HTTP+JSON has it (§11.6): `google.rpc.Status`. */
export function restError({ status: code, grpc: status, message, details }: Fault): object {
  return { error: { code, status, message, details } }
}
