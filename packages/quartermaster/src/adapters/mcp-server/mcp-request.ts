import { randomBytes } from 'node:crypto'
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  type RequestStateCodec,
  type Server,
  type ServerContext,
  TRACEPARENT_META_KEY,
  TRACESTATE_META_KEY,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { AppError, IDEMPOTENCY_HEADER, IDEMPOTENCY_META, type TraceContext } from '../../contracts/index.ts'
import type { AgentSession } from '../../core/agents/index.ts'
import { type CancelSignal, type Clock, createCancellation, traceFrom, traceIdOf } from '../../core/kernel/index.ts'
import { ANSWER_SECONDS, type LogLevel, type OperationSeal, REPEAT_SECONDS } from '../../core/operations/index.ts'

/** A request as our handlers see it, from the SDK or from the direct path. */
export interface McpRequest {
  /** Since 2026-07-28: no sessions, and questions are answered by repeating the request. */
  readonly isModern: boolean
  /** The id of the bearer token. */
  readonly holder: string | undefined
  /** Tells legacy clients apart that share a token. */
  readonly sessionId?: string | undefined
  readonly signal: CancelSignal
  /** Aborted when the client disconnects before it got the whole answer, where that does not cancel the request. */
  readonly disconnected?: CancelSignal | undefined
  readonly meta: Readonly<Record<string, unknown>>
  readonly client: ClientCapabilities
  readonly trace?: TraceContext | undefined
  /** The caller's idempotency key, not validated yet. */
  readonly idempotencyKey?: unknown
  /** What the client carried from the round before, verified. */
  readonly state: CarriedState | undefined
  /** The client's answers, not validated yet. */
  readonly inputResponses: Readonly<Record<string, unknown>>
  /** Sends a notification before the result. A failed delivery does not affect the request. */
  notify(method: string, params: Record<string, unknown>): void
  log(level: LogLevel, data: unknown): void
  sign(state: CarriedState): Promise<string>
}

export function hasDisconnected({ disconnected, signal }: McpRequest): boolean {
  return (disconnected ?? signal).aborted
}

/** The client's name; `undefined` for a client with neither token nor session. */
export function clientOf({ holder, sessionId }: Pick<McpRequest, 'holder' | 'sessionId'>): string | undefined {
  const known = [holder, sessionId].filter(one => one !== undefined)
  return known.length > 0 ? known.join(' ') : undefined
}

/** Whether a request is of the modern era: only those carry everything a session would hold. */
export function isModern({ mcpReq }: ServerContext): boolean {
  return mcpReq.envelope !== undefined
}

/** Converts a request of the SDK. */
export function requestOf(server: Server, context: ServerContext, stateSigner: StateSigner): McpRequest {
  const { mcpReq } = context
  const envelope = mcpReq.envelope as Record<string, unknown> | undefined
  const disconnected = context.http?.req?.signal
  const idempotencyKey = idempotencyKeyOf(mcpReq._meta ?? {}, context.http?.req?.headers)
  const declared = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities()
  return {
    isModern: isModern(context),
    holder: context.http?.authInfo?.clientId,
    sessionId: context.sessionId,
    // Over HTTP, modern clients cancel by disconnecting; legacy clients send a notification.
    signal: disconnected && isModern(context) ? callSignal(mcpReq.signal, idempotencyKey) : mcpReq.signal,
    disconnected,
    meta: mcpReq._meta ?? {},
    client: (declared ?? {}) as ClientCapabilities,
    trace: traceOf(mcpReq._meta ?? {}, context.http?.req?.headers),
    idempotencyKey,
    state: mcpReq.requestState<CarriedState>(),
    inputResponses: mcpReq.inputResponses ?? {},
    notify(method, params) {
      mcpReq.notify({ method, params } as never).catch(() => {})
    },
    log(level, data) {
      mcpReq.log(LOG_LEVELS[level], data).catch(() => {})
    },
    sign: state => stateSigner.mint(state, context),
  }
}

export const LOG_LEVELS = { debug: 'debug', info: 'info', warn: 'warning', error: 'error' } as const satisfies Record<
  LogLevel,
  string
>

/** A well-formed `tools/call`. What may stand in `_meta` depends on the era. */
export interface CallMessage {
  readonly id: string | number
  readonly params: {
    readonly name: string
    readonly arguments?: Record<string, unknown>
    readonly _meta?: unknown
  }
}

const METHOD = 'tools/call'
const CHANGING: ReadonlySet<string> = new Set([METHOD, 'tasks/update', 'tasks/cancel'])
const MEMBERS = new Set(['jsonrpc', 'id', 'method', 'params'])

export function isCallMessage(body: unknown): body is CallMessage {
  if (!isObject(body) || body.jsonrpc !== '2.0' || body.method !== METHOD || !hasOnly(body, MEMBERS)) return false
  const { id, params } = body
  if (typeof id !== 'string' && !Number.isSafeInteger(id)) return false
  if (!isObject(params) || typeof params.name !== 'string') return false
  return params.arguments === undefined || isObject(params.arguments)
}

/** Whether a message, or one of a batch, may change something. All others can simply be repeated. */
export function mayChange(body: unknown): boolean {
  if (Array.isArray(body)) return body.some(mayChange)
  return isObject(body) && typeof body.method === 'string' && CHANGING.has(body.method)
}

/** Whether a message starts new work. Answers, polls and notifications of running calls do not. */
export function startsWork(body: unknown): boolean {
  if (Array.isArray(body)) return body.some(startsWork)
  if (!isObject(body) || typeof body.method !== 'string' || body.id === undefined) return false
  if (body.method === 'ping' || body.method.startsWith('tasks/')) return false
  return !(isObject(body.params) && 'requestState' in body.params)
}

export function opensListeningStream(body: unknown): boolean {
  return isObject(body) && body.method === 'subscriptions/listen'
}

export function idOf(body: unknown): string | number | null {
  const id = isObject(body) ? body.id : undefined
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

/** Whether the client sends JSON and accepts both JSON and event streams. */
export function acceptsAnswers(headers: HeaderReader): boolean {
  const accept = headers.get('accept') ?? ''
  return (
    /^application\/json\s*(;|$)/i.test(headers.get('content-type') ?? '') &&
    accept.includes('application/json') &&
    accept.includes('text/event-stream')
  )
}

export function isProgressToken(token: unknown): boolean {
  return token === undefined || typeof token === 'string' || Number.isSafeInteger(token)
}

export function hasOnly(value: Record<string, unknown>, known: ReadonlySet<string>): boolean {
  return Object.keys(value).every(key => known.has(key))
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The part of `Headers` that is used here. */
export interface HeaderReader {
  get(name: string): string | null
}

/** Headers as Node has them: lower-case names. */
export type PlainHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

export function readerOf(headers: PlainHeaders): HeaderReader {
  return {
    get(name) {
      const value = headers[name.toLowerCase()]
      return typeof value === 'string' ? value : null
    },
  }
}

/** The idempotency key from the message, or from the headers. */
export function idempotencyKeyOf(meta: Readonly<Record<string, unknown>>, headers: HeaderReader | undefined): unknown {
  return meta[IDEMPOTENCY_META] ?? headers?.get(IDEMPOTENCY_HEADER) ?? undefined
}

/** What cancels a call when its client disconnects: nothing if it has a key, because its repeat fetches the result. */
export function callSignal(disconnected: CancelSignal, key: unknown): CancelSignal {
  return key === undefined ? disconnected : createCancellation().signal
}

/** Validates the idempotency key. A value that is no text is rejected: the client relies on its key. */
export function validateIdempotencyKey(given: unknown): string | undefined {
  if (given === undefined || typeof given === 'string') return given
  throw new AppError('INPUT_INVALID', `"${IDEMPOTENCY_META}" must be text.`)
}

/**
 * The trace of a request. The message names the client's own span (MCP 2026-07-28, trace context), the headers the HTTP request;
 * where both belong to one trace, the headers are the closer parent.
 */
export function traceOf(
  meta: Readonly<Record<string, unknown>>,
  headers: HeaderReader | undefined,
): TraceContext | undefined {
  const carried = headers && traceFrom(headers.get('traceparent'), headers.get('tracestate'))
  const named = traceFrom(meta[TRACEPARENT_META_KEY], meta[TRACESTATE_META_KEY])
  return carried && named && traceIdOf(carried) === traceIdOf(named) ? carried : (named ?? carried)
}

/** The agent behind an HTTP request, known from its token. */
export interface AuthenticatedAgent {
  readonly tokenId: string
  readonly session: AgentSession
}

/** The token for the SDK, which passes it on to our handlers: its id, never its text. */
export function authInfoOf({ tokenId }: AuthenticatedAgent): AuthInfoLike {
  return { token: '', clientId: tokenId, scopes: [] }
}

interface AuthInfoLike {
  token: string
  clientId: string
  scopes: string[]
  extra?: Record<string, unknown>
}

/** What a client carries between two rounds: the exchange, and the round in which it was asked. */
const CarriedState = z.strictObject({
  exchangeId: z.string(),
  round: z.number(),
  /** The recorded call. It outlives the exchange, which is lost with its process. */
  operationId: z.string().optional(),
  /** The question that asked the client to allow the call, and when. */
  consent: z.strictObject({ key: z.string(), askedAt: z.number() }).optional(),
})
export type CarriedState = z.infer<typeof CarriedState>

/** Signs the carried state, so that a client cannot forge it. */
export type StateSigner = RequestStateCodec<CarriedState>

/** A client whose answer arrives late still gets the result of a recorded call for this long. */
const RESULT_SECONDS = 86_400

/**
 * State about an operation is sealed for every process of the same store. Other state is signed with a key of this process, which
 * alone has the exchange.
 */
export function createStateSigner({ seal, clock }: { seal: OperationSeal; clock: Pick<Clock, 'now'> }): StateSigner {
  const own = createRequestStateCodec<CarriedState>({
    key: randomBytes(32),
    ttlSeconds: ANSWER_SECONDS + REPEAT_SECONDS,
  })

  async function sealed(state: CarriedState, operationId: string): Promise<string> {
    const until = clock.now() + ANSWER_SECONDS * 1000
    return `${OPERATION_PREFIX}${operationId}.${await seal.seal(JSON.stringify({ state, until }), operationId)}`
  }

  async function opened(text: string): Promise<CarriedState> {
    const dot = text.indexOf('.', OPERATION_PREFIX.length)
    const operationId = text.slice(OPERATION_PREFIX.length, dot)
    const { state, until } = Sealed.parse(JSON.parse(await seal.open(text.slice(dot + 1), operationId)))
    const late = clock.now() - until
    if (late > RESULT_SECONDS * 1000) throw new Error('expired')
    if (late <= 0) return state
    // Consent that arrives too late allows nothing.
    const { consent: _consent, ...rest } = state
    return rest
  }

  return {
    mint: (state, context) =>
      state.operationId === undefined ? own.mint(state, context) : sealed(state, state.operationId),
    verify: (text, context) => (text.startsWith(OPERATION_PREFIX) ? opened(text) : own.verify(text, context)),
  }
}

const OPERATION_PREFIX = 'op1.'

const Sealed = z.strictObject({ state: CarriedState, until: z.number() })
