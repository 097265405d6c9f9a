import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type Server,
  type ServerContext,
  TRACEPARENT_META_KEY,
  TRACESTATE_META_KEY,
} from '@modelcontextprotocol/server'
import { AppError, IDEMPOTENCY_HEADER, IDEMPOTENCY_META, type TraceContext } from '../../contracts/index.ts'
import type { AgentSession } from '../../core/agents/index.ts'
import { type CancelSignal, createCancellation, traceFrom, traceIdOf } from '../../core/kernel/index.ts'
import type { LogLevel } from '../../core/operations/index.ts'
import type { CarriedState, StateSigner } from './request-state.ts'

/** A request as our handlers see it, whatever brought it: a server of the SDK, or our own way for calls. */
export interface McpRequest {
  /** From 2026-07-28 on: no sessions, and questions are answered by repeating the request. */
  readonly isModern: boolean
  /** The token it came with, by its id. A session has one of its own, and ends with it. */
  readonly holder: string | undefined
  /** Clients from before 2026-07-28 that share a token are told apart by it. */
  readonly sessionId?: string | undefined
  readonly signal: CancelSignal
  /** Given when its client went away before it got all of the answer, where that does not cancel the request. */
  readonly gone?: CancelSignal | undefined
  readonly meta: Readonly<Record<string, unknown>>
  readonly client: ClientCapabilities
  /** Whose trace it belongs to. */
  readonly trace?: TraceContext | undefined
  /** The caller's own name for the call, as it came. */
  readonly idempotencyKey?: unknown
  /** What the client carried from the round before, verified. */
  readonly state: CarriedState | undefined
  /** What the client answered, as it came. */
  readonly inputResponses: Readonly<Record<string, unknown>>
  /** Sends something on the way. Whether it arrives changes nothing about the request. */
  notify(method: string, params: Record<string, unknown>): void
  log(level: LogLevel, data: unknown): void
  /** Signs what the client is to carry to the next round. */
  sign(state: CarriedState): Promise<string>
}

/** Whether its client went away before it got all of the answer. */
export function hasGone({ gone, signal }: McpRequest): boolean {
  return (gone ?? signal).aborted
}

/** Which client it comes from; unknown for one that has neither token nor session. */
export function clientOf({ holder, sessionId }: Pick<McpRequest, 'holder' | 'sessionId'>): string | undefined {
  const known = [holder, sessionId].filter(one => one !== undefined)
  return known.length > 0 ? known.join(' ') : undefined
}

/** Whether a request is of the era from 2026-07-28 on: only those carry all that a session used to know. */
export function isModern({ mcpReq }: ServerContext): boolean {
  return mcpReq.envelope !== undefined
}

/** The request as a server of the SDK has it. */
export function requestOf(server: Server, context: ServerContext, states: StateSigner): McpRequest {
  const { mcpReq } = context
  const envelope = mcpReq.envelope as Record<string, unknown> | undefined
  const gone = context.http?.req?.signal
  const idempotencyKey = givenKey(mcpReq._meta ?? {}, context.http?.req?.headers)
  const declared = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities()
  return {
    isModern: isModern(context),
    holder: context.http?.authInfo?.clientId,
    sessionId: context.sessionId,
    // Over HTTP, clients of this era cancel by going away. Others say so.
    signal: gone && isModern(context) ? endedBy(mcpReq.signal, idempotencyKey) : mcpReq.signal,
    gone,
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
    sign: state => states.mint(state, context),
  }
}

/** Levels of logs as MCP names them. */
export const LOG_LEVELS = { debug: 'debug', info: 'info', warn: 'warning', error: 'error' } as const satisfies Record<
  LogLevel,
  string
>

/** A `tools/call` whose parts are all of the kind they should be. What may stand in `_meta` depends on the era. */
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

/** Whether something may be different after a message, or after one of several. All others can simply be asked again. */
export function mayChange(body: unknown): boolean {
  if (Array.isArray(body)) return body.some(mayChange)
  return isObject(body) && typeof body.method === 'string' && CHANGING.has(body.method)
}

/** Whether a message asks for something new. What belongs to a call that runs is none: its answers, polls and notices. */
export function beginsSomething(body: unknown): boolean {
  if (Array.isArray(body)) return body.some(beginsSomething)
  if (!isObject(body) || typeof body.method !== 'string' || body.id === undefined) return false
  if (body.method === 'ping' || body.method.startsWith('tasks/')) return false
  return !(isObject(body.params) && 'requestState' in body.params)
}

/** Whether it opens a stream on which the client only listens. */
export function isListening(body: unknown): boolean {
  return isObject(body) && body.method === 'subscriptions/listen'
}

/** The id that its answer has. */
export function idOf(body: unknown): string | number | null {
  const id = isObject(body) ? body.id : undefined
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

/** Whether the client sends JSON, and takes both kinds of answers. */
export function speaksJson(headers: HeaderReader): boolean {
  const accept = headers.get('accept') ?? ''
  return (
    /^application\/json\s*(;|$)/i.test(headers.get('content-type') ?? '') &&
    accept.includes('application/json') &&
    accept.includes('text/event-stream')
  )
}

/** Whether `_meta` asks for progress as it should, or not at all. */
export function isProgressToken(token: unknown): boolean {
  return token === undefined || typeof token === 'string' || Number.isSafeInteger(token)
}

export function hasOnly(value: Record<string, unknown>, known: ReadonlySet<string>): boolean {
  return Object.keys(value).every(key => known.has(key))
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Headers as they are looked at here: those of a `Request`, or of one that was never made. */
export interface HeaderReader {
  get(name: string): string | null
}

/** As Node has them: small names, and one text for each that may occur once. */
export type PlainHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

export function readerOf(headers: PlainHeaders): HeaderReader {
  return {
    get(name) {
      const value = headers[name.toLowerCase()]
      return typeof value === 'string' ? value : null
    },
  }
}

/** As it came: in the message, or in the headers of the request that carried it. */
export function givenKey(meta: Readonly<Record<string, unknown>>, headers: HeaderReader | undefined): unknown {
  return meta[IDEMPOTENCY_META] ?? headers?.get(IDEMPOTENCY_HEADER) ?? undefined
}

/** What ends a call when its client goes away: nothing where it has a key, since its repeat comes for the result. */
export function endedBy(gone: CancelSignal, key: unknown): CancelSignal {
  return key === undefined ? gone : createCancellation().signal
}

/** The caller's own name for a call, if it has one. What is no text is refused: a client that sends a key relies on it. */
export function checkedKey(given: unknown): string | undefined {
  if (given === undefined || typeof given === 'string') return given
  throw new AppError('INPUT_INVALID', `"${IDEMPOTENCY_META}" must be text.`)
}

/**
 * Whose trace a request belongs to. The message names the client's own span (MCP 2026-07-28, trace context), the headers
 * the request that carried it; where both are of one trace the headers are nearer.
 */
export function traceOf(
  meta: Readonly<Record<string, unknown>>,
  headers: HeaderReader | undefined,
): TraceContext | undefined {
  const carried = headers && traceFrom(headers.get('traceparent'), headers.get('tracestate'))
  const named = traceFrom(meta[TRACEPARENT_META_KEY], meta[TRACESTATE_META_KEY])
  return carried && named && traceIdOf(carried) === traceIdOf(named) ? carried : (named ?? carried)
}

/** Who makes a request over HTTP, known from its token. */
export interface AuthenticatedAgent {
  /** The token, by its id. Sessions and streams belong to it. */
  readonly tokenId: string
  readonly session: AgentSession
}

/** The same for the SDK, which passes it on to our handlers: the token by its id, never its text. */
export function authInfoOf({ tokenId }: AuthenticatedAgent): AuthInfoLike {
  return { token: '', clientId: tokenId, scopes: [] }
}

interface AuthInfoLike {
  token: string
  clientId: string
  scopes: string[]
  extra?: Record<string, unknown>
}
