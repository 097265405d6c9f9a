import type { TraceContext } from '../../contracts/index.ts'

export type Cancel = () => void

export interface Clock {
  /**
   * Epoch milliseconds that never run backwards, so that intervals survive a corrected wall clock. The exception: `setTo` of a
   * clock that follows another machine.
   */
  now(): number
  /** Runs `task` once after `ms`. Never keeps the process alive. */
  after(ms: number, task: () => void): Cancel
  /** Resolves after other work had its turn on the event loop. */
  breathe(): Promise<void>
}

/** A clock that can follow the time of another machine. */
export interface FollowingClock extends Clock {
  /** Shows this time from now on, even if it is earlier. */
  setTo(time: number): void
  /** Calls `ask` when the machine's time has jumped. The new time is not used unless `setTo` is called within a moment. */
  onDoubt(ask: () => void): void
}

/** Makes unguessable identifiers. */
export interface Ids {
  next(prefix: string): string
  /** A credential: 256 random bits. */
  secret(prefix: string): string
}

/** A number in [0, 1), for jitter. */
export type Random = () => number

/** SHA-256 as lower-case hex. Synchronous: WebCrypto costs twenty times as much for small inputs. */
export type Digest = (text: string) => string

/** The diagnostic log. Fields are facts for programs; never a secret. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

/** Parses a W3C trace context, if these values are one. */
export function traceFrom(traceparent: unknown, tracestate?: unknown): TraceContext | undefined {
  const fields = typeof traceparent === 'string' ? FORM.exec(traceparent) : null
  if (!fields) return undefined
  const [, version, ids, rest] = fields
  // Version 00 ends here; a later version may say more, and is passed on as version 00 (§2.2.3).
  if (version === 'ff' || (version === '00' && rest !== '')) return undefined
  const known = `00-${ids}`
  // §3.3.1.5 asks for at least 512 characters of state; more is not carried.
  const isState = typeof tracestate === 'string' && /^[\x20-\x7e]{1,512}$/.test(tracestate)
  return isState ? { traceparent: known, tracestate } : { traceparent: known }
}

export function traceIdOf({ traceparent }: TraceContext): string {
  return traceparent.slice(3, 35)
}

/** An id of zeros means none (§2.2.3.1). */
const FORM = /^([0-9a-f]{2})-((?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2})(|-.{0,400})$/

/** Attributes of a span. Never arguments, never a secret. */
type SpanFacts = Readonly<Record<string, string | number | boolean>>

/** Reports spans to a tracing system. Without one, contexts are passed on unchanged. */
export interface Tracer {
  start(span: SpanStart): Span
}

export interface SpanStart {
  readonly name: string
  readonly kind: 'server' | 'internal'
  readonly parent?: TraceContext | undefined
  readonly facts: SpanFacts
}

export interface Span {
  /** The parent of its own parts. */
  readonly trace: TraceContext
  /** `error` names the failure, if there was one. */
  end(end: { readonly facts?: SpanFacts; readonly error?: string | undefined }): void
}
