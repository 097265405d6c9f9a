import type { TraceContext } from '../../contracts/index.ts'

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
