import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { TraceContext } from '../../contracts/index.ts'
import type { CancelSignal } from '../../core/kernel/index.ts'
import type { LogLevel } from '../../core/operations/index.ts'
import { endedBy, givenKey } from './idempotency-key.ts'
import type { CarriedState, StateSigner } from './states.ts'
import { traceOf } from './trace.ts'

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

/** Which client it comes from; nobody knows of one that has neither token nor session. */
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
