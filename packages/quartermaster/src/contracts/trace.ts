/** Where work hangs in somebody's trace (W3C Trace Context). */
export interface TraceContext {
  /** `00-TRACE-SPAN-FLAGS`, in lower-case hex. */
  readonly traceparent: string
  /** What the systems on the way added; passed on as it came. */
  readonly tracestate?: string
}
