import { type TraceContext } from '../../contracts/index.ts'

/** The trace context in these values, if it is one. Whoever sends another kind is simply not followed. */
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
  /** Whether it answers somebody outside, or is a step of such an answer. */
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
