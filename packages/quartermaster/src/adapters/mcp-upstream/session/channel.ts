import type { CancelSignal } from '../../../core/kernel/index.ts'
import type { Id, Message } from '../../mcp-wire/index.ts'

/** How a channel ended. */
export interface ChannelEnd {
  /**
   * `exited`: its program ended. `lost`: the connection broke. `unreachable`: nobody gets through to it any more (HTTP). `hung`: it
   * does not answer any more. `garbled`: it does not speak the protocol. `sessionLost`: the server has forgotten us.
   * `unauthorized`: a person has to sign in. `failing`: it answers, and nothing that is asked of it succeeds. `closed`: we closed
   * it.
   */
  readonly kind: EndKind
  /** In a sentence of ours, without a secret. A model may read it. */
  readonly reason: string
  /** What the server said itself, shortened: the words of a stranger, which only people get to see. */
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
 * Whether a server only lets nobody in any more: nothing new is sent to it, and what it has let in before it may still answer, as
 * one does that is about to stop. The channel tells of each that it does not.
 */
export function isShut({ kind }: ChannelEnd): boolean {
  return SHUT.has(kind)
}

const SHUT: ReadonlySet<EndKind> = new Set(['sessionLost', 'unauthorized', 'unreachable'])

/** One way to a server: messages out, messages in, until it ends. Nothing on it is ever sent twice. */
export interface Channel {
  /** Resolves when the message was handed over. Rejects with a `SendFailure`. */
  send(message: Message, options?: SendOptions): Promise<void>
  /** Takes back a request that no server can have seen yet, and answers whether it did. Absent where nothing waits to be sent. */
  withdraw?(id: Id): boolean
  /**
   * Ends it, for a reason that may be known, and whatever it started. Resolves when nothing of it is left, but for what a server
   * that is shut may still answer, where that is the reason.
   */
  close(end?: ChannelEnd): Promise<void>
  /** The processes behind it, if any. */
  pids(): readonly number[]
  /** The revision both sides have settled on (HTTP repeats it in a header). */
  agreed?(version: string): void
  /**
   * Since when whatever the server says beside its answers is heard without a break; `undefined` while it is not. Absent where
   * that cannot be otherwise for as long as the channel is there.
   */
  listeningSince?(): number | undefined
  /** Whether every request opens an exchange of its own, which is ended to give it up (HTTP). */
  readonly hasExchanges: boolean
}

export interface SendOptions {
  /** Gives up the exchange that this request opened, where there is one per request (HTTP). */
  readonly signal?: CancelSignal | undefined
  /** Beside those that follow from the message (HTTP). */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** What a channel tells whoever opened it. */
export interface ChannelEvents {
  /**
   * `of`: the request in whose exchange it came, where there is one for each. It has to be given, if only as `undefined`, so that
   * no channel around another one leaves it out unnoticed.
   */
  onMessage(message: Message, of: Id | undefined): void
  /** More of a long message came, which is not whole yet. */
  onPart?(): void
  /** Once. Nothing comes after it, but for what a server that is shut still answers. */
  onEnd(end: ChannelEnd): void
  /** The exchange of a request ended without its answer. Everything else goes on. */
  onLost?(id: Id, reason: string): void
  /** The server ended a connection, and everything else goes on: who answers the next request may be another (HTTP). */
  onBroken?(): void
  /** What the server says beside its answers is heard again, and nobody knows what it said meanwhile (HTTP). */
  onMissed?(): void
}

/** Opens a channel. It may still fail afterwards: a program that does not exist ends it. Rejects with a `ChannelFailure`. */
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
 * `no`: the server cannot have seen it, so it may be sent again. `refused`: it has seen it and turned it down, as it would
 * again. `turnedAway`: it says that it did not take it in, and whether that is about the request or about us is found out by
 * asking it something else. A 404 that stays so is gainsaid by what it answers else. `maybe`: nobody knows.
 */
export type WasSent = 'no' | 'refused' | 'turnedAway' | 'maybe'

/** A message that did not get through, or of which nobody knows. */
export class SendFailure extends Error {
  readonly wasSent: WasSent
  /** The server is there and asks to come back later. */
  readonly retryAfterMs: number | undefined
  /** What it answered instead (HTTP). */
  readonly status: number | undefined
  /** What the server said about it, for people alone. */
  readonly said: string | undefined
  /** Whether to send it again would come to the same, whatever it is. */
  readonly isFinal: boolean
  /** Whether we ended the connection ourselves, for a reason that has nothing to do with it. */
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

  /** The same but for what is given. What only some kinds of it know is not taken along. */
  with({ message = this.message, ...facts }: Partial<SendFailureFacts> & { readonly message?: string }): SendFailure {
    return new SendFailure(message, { ...this, cause: this.cause, ...facts })
  }
}

/** For how long a server asks to be left alone that is there. A 503 without that may be a proxy's, before one that is gone. */
export function busyMsOf({ wasSent, retryAfterMs }: SendFailure): number | undefined {
  return wasSent === 'no' ? retryAfterMs : undefined
}

/** The server did not know the session, or the revision that is spoken in it, and so has done nothing. */
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
