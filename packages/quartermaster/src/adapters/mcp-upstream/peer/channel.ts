import { messageOf } from '../../../contracts/index.ts'
import { type CancelSignal, sentence } from '../../../core/kernel/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { MOST_SAID } from '../../http-client/index.ts'
import { type Id, isRecord, type Message, type Response } from '../../mcp-wire/index.ts'

export interface ChannelEnd {
  /**
   * `exited`: the program ended. `lost`: the connection broke. `unreachable`: no request gets through any more
   * (HTTP). `hung`: the server stopped answering. `garbled`: it does not speak the protocol. `sessionLost`: it forgot
   * the session. `unauthorized`: a person has to sign in. `failing`: it answers, but no request succeeds. `closed`:
   * we closed it.
   */
  readonly kind: EndKind
  /** A sentence of ours, without a secret. A model may read it. */
  readonly reason: string
  /** The server's own words, shortened, for people only. */
  readonly said?: string | undefined
}

type EndKind =
  | 'exited'
  | 'lost'
  | 'unreachable'
  | 'hung'
  | 'garbled'
  | 'sessionLost'
  | 'unauthorized'
  | 'failing'
  | 'closed'

/**
 * Whether the server merely refuses access now: nothing new is sent to it, and it may still answer what it accepted,
 * like a server about to stop. The channel reports each request that it does not answer.
 */
export function isShut({ kind }: ChannelEnd): boolean {
  return SHUT.has(kind)
}

const SHUT: ReadonlySet<EndKind> = new Set(['sessionLost', 'unauthorized', 'unreachable'])

/** One connection to a server: messages out, messages in, until it ends. Nothing on it is sent twice. */
export interface Channel {
  /** Resolves when the message was handed over. Rejects with a `SendFailure`. */
  send(message: Message, options?: SendOptions): Promise<void>
  /** Takes back a request that was not sent yet, and answers whether it did. Absent where nothing waits to be sent. */
  withdraw?(id: Id): boolean
  /**
   * Ends the channel and whatever it started. Resolves when nothing of it is left, except for answers still to come
   * from a server that is shut, if that is the reason.
   */
  close(end?: ChannelEnd): Promise<void>
  pids(): readonly number[]
  /** Sets the agreed revision (HTTP repeats it in a header). */
  agreed?(version: string): void
  /**
   * Since when notifications are received without a gap; `undefined` while they are not. Absent where no gap is
   * possible.
   */
  listeningSince?(): number | undefined
  /** Whether every request has its own exchange, which is ended to cancel it (HTTP). */
  readonly hasExchanges: boolean
}

interface SendOptions {
  /** Cancels the exchange of this request (HTTP). */
  readonly signal?: CancelSignal | undefined
  /** Besides those that follow from the message (HTTP). */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface ChannelEvents {
  /**
   * `of`: the request in whose exchange the message came. Required, if only as `undefined`, so that no wrapping
   * channel drops it unnoticed.
   */
  onMessage(message: Message, of: Id | undefined): void
  /** More of a long message arrived. */
  onPart?(): void
  /** Once. Nothing follows, except for answers of a server that is shut. */
  onEnd(end: ChannelEnd): void
  /** The exchange of a request ended without its answer. Everything else goes on. */
  onLost?(id: Id, reason: string): void
  /**
   * The server ended a connection, and everything else goes on: another instance may answer the next request (HTTP).
   */
  onBroken?(): void
  /** Notifications are received again after a gap (HTTP). */
  onMissed?(): void
}

/**
 * Opens a channel. It may still end afterwards: a program that does not exist ends it. Rejects with a
 * `ChannelFailure`.
 */
export type OpenChannel = (events: ChannelEvents, signal: AbortSignal) => Promise<Channel>

/** A channel that could not be opened. */
export class ChannelFailure extends Error {
  readonly end: ChannelEnd
  constructor(end: ChannelEnd, options?: ErrorOptions) {
    super(end.reason, options)
    this.name = 'ChannelFailure'
    this.end = end
  }
}

/**
 * `no`: the server cannot have seen it, so it may be sent again. `refused`: the server refused it, and would again.
 * `turnedAway`: the server says that it did not accept it; a probe finds out whether that is about the request or
 * about us. `maybe`: unknown.
 */
export type WasSent = 'no' | 'refused' | 'turnedAway' | 'maybe'

/** A message that was not delivered, or whose outcome is unknown. */
export class SendFailure extends Error {
  readonly wasSent: WasSent
  /** How long a reachable server asks to wait. */
  readonly retryAfterMs: number | undefined
  readonly status: number | undefined
  /** The server's own words, for people only. */
  readonly said: string | undefined
  /** Whether any retry would have the same result. */
  readonly isFinal: boolean
  /** Whether we ended the connection, for an unrelated reason. */
  readonly isOurDoing: boolean
  constructor(message: string, facts: SendFailureFacts) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.name = 'SendFailure'
    this.wasSent = facts.wasSent
    this.retryAfterMs = facts.retryAfterMs
    this.status = facts.status
    this.said = facts.said
    this.isFinal = facts.isFinal === true
    this.isOurDoing = facts.isOurDoing === true
  }

  /** A copy with other facts, without those of subclasses. */
  with({ message = this.message, ...facts }: Partial<SendFailureFacts> & { readonly message?: string }): SendFailure {
    return new SendFailure(message, { ...this, cause: this.cause, ...facts })
  }
}

/**
 * How long a reachable server asks to be left alone. A 503 without a time may come from a proxy whose server is gone.
 */
export function busyMsOf({ wasSent, retryAfterMs }: SendFailure): number | undefined {
  return wasSent === 'no' ? retryAfterMs : undefined
}

/** The server did not know the session, or its revision, and so has done nothing. */
export function isSessionForgotten({ wasSent, status }: SendFailure): boolean {
  return wasSent === 'no' && status !== undefined && FORGOTTEN.has(status)
}

const FORGOTTEN: ReadonlySet<number> = new Set([400, 404, 422])

interface SendFailureFacts {
  readonly wasSent: WasSent
  readonly retryAfterMs?: number | undefined
  readonly status?: number | undefined
  readonly said?: string | undefined
  readonly isFinal?: boolean | undefined
  readonly isOurDoing?: boolean | undefined
  readonly cause?: unknown
}

/** An error that the server answered. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown
  constructor(error: { readonly code: number; readonly message: string; readonly data?: unknown }) {
    super(error.message)
    this.name = 'RpcError'
    this.code = error.code
    this.data = error.data
  }
}

/** A server may answer with an error of any shape. */
export function toRpcError(error: unknown): RpcError {
  const { code, message, data } = isRecord(error) ? error : {}
  return new RpcError({
    code: typeof code === 'number' ? code : RPC.internal,
    message: typeof message === 'string' ? message : 'It gave no reason.',
    data,
  })
}

/** The codes of JSON-RPC and MCP that we handle. */
export const RPC = {
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  /** Before 2026-07-28; after it such a resource is an invalid parameter. */
  resourceNotFound: -32_002,
  missingCapability: -32_021,
  unsupportedVersion: -32_022,
  /** Before 2026-07-28: addresses that a person has to visit first. */
  urlElicitationRequired: -32_042,
} as const

/**
 * An answer that cannot be used. It is no refusal: the server may have done what it was asked, and would answer the
 * same again.
 */
export class UnreadableAnswer extends RpcError {
  readonly why: string
  constructor(why: string) {
    super({ code: RPC.internal, message: `Its answer is not taken. ${why}` })
    this.name = 'UnreadableAnswer'
    this.why = why
  }
}

/**
 * Replaces an answer that is not accepted, so that its caller does not wait. Not an error, which would be the
 * server's own word.
 */
export function refusedAnswer(id: Id, why: string): Response {
  return { jsonrpc: '2.0', id, result: new UnreadableAnswer(why) }
}

/** What went wrong. A model may read `reason`; `said` is the server's text, for people only. */
export interface ErrorReport {
  readonly reason: string
  readonly said?: string | undefined
}

/** The report of an error that occurred while connecting. */
export function errorReportOf(error: unknown): ErrorReport {
  if (error instanceof ChannelFailure) return error.end
  if (error instanceof RpcError && error.code === RPC.unsupportedVersion) return versionTrouble(error)
  if (error instanceof UnreadableAnswer) return { reason: error.message }
  if (error instanceof RpcError)
    return { reason: `It answered with an error (${error.code}).`, said: excerptOf(error.message, MOST_SAID) }
  const said = error instanceof SendFailure ? error.said : undefined
  return { reason: sentence(messageOf(error)), said }
}

/** Names only what looks like a version: a model may read it. */
function versionTrouble({ message, data }: RpcError): ErrorReport {
  const { supported } = isRecord(data) ? data : {}
  const versions = (Array.isArray(supported) ? supported : []).filter(one => VERSION.test(String(one)))
  const ours = `We speak ${[MODERN_VERSION, ...LEGACY_VERSIONS].join(', ')}.`
  return versions.length > 0
    ? { reason: `It speaks MCP ${versions.slice(0, MOST_VERSIONS).join(', ')} only. ${ours}` }
    : { reason: `It speaks no version of MCP that we do. ${ours}`, said: excerptOf(message, MOST_SAID) }
}

const VERSION = /^\d{4}-\d{2}-\d{2}$/
const MOST_VERSIONS = 8

/** The whole report, for logs and the output of commands. */
export function forPeople({ reason, said }: ErrorReport): string {
  return said === undefined ? reason : `${reason.replace(/\.$/, '')}: ${said}`
}

/** The modern revision that we speak, and the legacy ones, newest first. */
export const MODERN_VERSION = '2026-07-28'
export const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

/** Keys of `_meta` that MCP 2026-07-28 defines. */
export const META = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const

/** The first notification of a subscription (MCP 2026-07-28): from here on changes are sent. */
export const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

/** A map: in an object, a server's `constructor` would be a list too. */
export const LIST_CHANGED: ReadonlyMap<string, 'tools' | 'prompts' | 'resources'> = new Map([
  ['notifications/tools/list_changed', 'tools'],
  ['notifications/prompts/list_changed', 'prompts'],
  ['notifications/resources/list_changed', 'resources'],
])
