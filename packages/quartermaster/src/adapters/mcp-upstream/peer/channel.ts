import { messageOf } from '../../../contracts/index.ts'
import { type CancelSignal, sentence } from '../../../core/kernel/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { MOST_SAID } from '../../http-client/index.ts'
import { type Id, isRecord, type Message, type Response } from '../../mcp-wire/index.ts'
import { LEGACY_VERSIONS, MODERN_VERSION } from './message-limits.ts'

export interface ChannelEnd {
  /**
   * `exited`: its program ended. `lost`: the connection broke. `unreachable`: no request gets through any more (HTTP).
   * `hung`: it does not answer any more. `garbled`: it does not speak the protocol. `sessionLost`: the server has
   * forgotten us. `unauthorized`: a person has to sign in. `failing`: it answers, but no request succeeds. `closed`: we
   * closed it.
   */
  readonly kind: EndKind
  /** A sentence of ours, without a secret. A model may read it. */
  readonly reason: string
  /** The server's own words, shortened: text of a stranger, which only people see. */
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
  /**
   * Takes back a request that no server can have seen, and answers whether it did. Absent where nothing waits to be
   * sent.
   */
  withdraw?(id: Id): boolean
  /**
   * Ends it and whatever it started, for a reason that may be known. Resolves when nothing of it is left, except for
   * answers still to come from a server that is shut, if that is the reason.
   */
  close(end?: ChannelEnd): Promise<void>
  /** The processes behind it, if any. */
  pids(): readonly number[]
  /** The agreed revision (HTTP repeats it in a header). */
  agreed?(version: string): void
  /**
   * Since when notifications are received without a gap; `undefined` while they are not. Absent where there can be no
   * gap as long as the channel exists.
   */
  listeningSince?(): number | undefined
  /** Whether every request opens an exchange of its own, which is ended to cancel it (HTTP). */
  readonly hasExchanges: boolean
}

interface SendOptions {
  /** Cancels the exchange of this request, where there is one per request (HTTP). */
  readonly signal?: CancelSignal | undefined
  /** In addition to those that follow from the message (HTTP). */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface ChannelEvents {
  /**
   * `of`: the request in whose exchange it came, where each has one. Required, if only as `undefined`, so that no
   * wrapping channel leaves it out unnoticed.
   */
  onMessage(message: Message, of: Id | undefined): void
  /** More of an incomplete long message arrived. */
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
 * Opens a channel. It may still fail afterwards: a program that does not exist ends it. Rejects with a
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
 * `no`: the server cannot have seen it, so it may be sent again. `refused`: it refused it, and would again.
 * `turnedAway`: it says that it did not accept it; whether that is about the request or about us is found out by asking
 * it something else. `maybe`: unknown.
 */
export type WasSent = 'no' | 'refused' | 'turnedAway' | 'maybe'

/** A message that did not get through, or whose fate is unknown. */
export class SendFailure extends Error {
  readonly wasSent: WasSent
  /** The server is there and asks to come back later. */
  readonly retryAfterMs: number | undefined
  /** The HTTP status that it answered with. */
  readonly status: number | undefined
  /** The server's words about it, for people only. */
  readonly said: string | undefined
  /** Whether any repetition would have the same result. */
  readonly isFinal: boolean
  /** Whether we ended the connection ourselves, for an unrelated reason. */
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

  /** A copy with other facts. What only some subclasses know is not copied. */
  with({ message = this.message, ...facts }: Partial<SendFailureFacts> & { readonly message?: string }): SendFailure {
    return new SendFailure(message, { ...this, cause: this.cause, ...facts })
  }
}

/**
 * How long a server that is there asks to be left alone. A 503 without that may come from a proxy whose server is gone.
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
 * A server's answer that cannot be used. It is no refusal: the server may have done what it was asked. It is up,
 * though, and done with the request; asked again, it would answer the same.
 */
export class UnreadableAnswer extends RpcError {
  /** What is wrong with it, in a sentence. */
  readonly why: string
  constructor(why: string) {
    super({ code: RPC.internal, message: `Its answer is not taken. ${why}` })
    this.name = 'UnreadableAnswer'
    this.why = why
  }
}

/**
 * Replaces an answer that is not accepted: its caller would wait for nothing. Not an error, because that would be the
 * server's own word.
 */
export function refusedAnswer(id: Id, why: string): Response {
  return { jsonrpc: '2.0', id, result: new UnreadableAnswer(why) }
}

/** What went wrong. A model may read the reason; the server's own words are for people only. */
export interface Trouble {
  readonly reason: string
  readonly said?: string | undefined
}

/** What an error means that occurred while connecting. */
export function troubleOf(error: unknown): Trouble {
  if (error instanceof ChannelFailure) return error.end
  if (error instanceof RpcError && error.code === RPC.unsupportedVersion) return versionTrouble(error)
  if (error instanceof UnreadableAnswer) return { reason: error.message }
  if (error instanceof RpcError)
    return { reason: `It answered with an error (${error.code}).`, said: excerptOf(error.message, MOST_SAID) }
  const said = error instanceof SendFailure ? error.said : undefined
  return { reason: sentence(messageOf(error)), said }
}

/** Which versions it speaks, if it names any. Only what looks like a version: a model may read it. */
function versionTrouble({ message, data }: RpcError): Trouble {
  const { supported } = isRecord(data) ? data : {}
  const versions = (Array.isArray(supported) ? supported : []).filter(one => VERSION.test(String(one)))
  const ours = `We speak ${[MODERN_VERSION, ...LEGACY_VERSIONS].join(', ')}.`
  return versions.length > 0
    ? { reason: `It speaks MCP ${versions.slice(0, MOST_VERSIONS).join(', ')} only. ${ours}` }
    : { reason: `It speaks no version of MCP that we do. ${ours}`, said: excerptOf(message, MOST_SAID) }
}

const VERSION = /^\d{4}-\d{2}-\d{2}$/
const MOST_VERSIONS = 8

/** All of it, for people: in logs and in the output of commands. */
export function forPeople({ reason, said }: Trouble): string {
  return said === undefined ? reason : `${reason.replace(/\.$/, '')}: ${said}`
}
