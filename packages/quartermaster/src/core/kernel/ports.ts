import type { TraceContext } from '../../contracts/index.ts'

/** Cancels what was scheduled. */
export type Cancel = () => void

/** Time, as the core knows it. */
export interface Clock {
  /**
   * Epoch milliseconds that never run backwards, so that intervals survive a corrected wall clock. Only where several machines
   * go by one clock, and this one's is found to be ahead, do they.
   */
  now(): number
  /** Runs `task` once after `ms`. Never keeps the process alive by itself. */
  after(ms: number, task: () => void): Cancel
  /** Resolves after other work had its turn on the event loop. */
  breathe(): Promise<void>
}

/** A clock that can go by the time of another one. */
export interface FollowingClock extends Clock {
  /** Shows this time from now on, also if that is earlier. */
  setTo(time: number): void
  /** Has `ask` called when the machine's time has jumped. The new time is not used unless `setTo` is called within a moment. */
  onDoubt(ask: () => void): void
}

/** Makes identifiers that cannot be guessed. */
export interface Ids {
  next(prefix: string): string
  /** A credential: 256 random bits. */
  secret(prefix: string): string
}

/** A number in [0, 1), for jitter. */
export type Random = () => number

/** SHA-256 as lower-case hex. Synchronous: WebCrypto costs twenty times as much for small inputs. */
export type Digest = (text: string) => string

/** Where diagnostic lines go. Fields are facts for programs; never a secret. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

/** The trace context in these values, if it is one. Another kind of header is not followed. */
export function traceFrom(traceparent: unknown, tracestate?: unknown): TraceContext | undefined {
  const fields = typeof traceparent === 'string' ? FORM.exec(traceparent) : null
  if (!fields) return undefined
  const [, version, ids, rest] = fields
  // Version 00 ends here; a later one may say more, and is passed on as the version we know (§2.2.3).
  if (version === 'ff' || (version === '00' && rest !== '')) return undefined
  const known = `00-${ids}`
  return isState(tracestate) ? { traceparent: known, tracestate } : { traceparent: known }
}

/** The trace that a context belongs to. */
export function traceIdOf({ traceparent }: TraceContext): string {
  return traceparent.slice(3, 35)
}

/** An id of zeros means none (§2.2.3.1). */
const FORM = /^([0-9a-f]{2})-((?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2})(|-.{0,400})$/

/** §3.3.1.5 asks for at least 512 characters; more is no list of ours to carry. */
function isState(value: unknown): value is string {
  return typeof value === 'string' && /^[\x20-\x7e]{1,512}$/.test(value)
}

/** Facts about a piece of work. Never its arguments, never a secret. */
export type SpanFacts = Readonly<Record<string, string | number | boolean>>

/** Tells a tracing system what happened when. Where there is none, nothing is told and contexts are passed on as they came. */
export interface Tracer {
  start(span: SpanStart): Span
}

export interface SpanStart {
  readonly name: string
  /** Whether it answers a request from outside, or is a step of such an answer. */
  readonly kind: 'server' | 'internal'
  readonly parent?: TraceContext | undefined
  readonly facts: SpanFacts
}

/** A piece of work that has begun. */
export interface Span {
  /** Where its own parts hang. */
  readonly trace: TraceContext
  /** `error` names what went wrong, if anything did. */
  end(end: { readonly facts?: SpanFacts; readonly error?: string | undefined }): void
}
