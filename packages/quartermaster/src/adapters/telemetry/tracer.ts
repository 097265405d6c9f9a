import type { Context, Span as OtelSpan } from '@opentelemetry/api'
import type { TraceContext } from '../../contracts/index.ts'
import type { Tracer } from '../../core/kernel/index.ts'
import type { Sdk } from './sdk.ts'

/** Our port over a tracer of OpenTelemetry. */
export function createTracer({ api }: Pick<Sdk, 'api'>, tracer: ReturnType<Sdk['api']['trace']['getTracer']>): Tracer {
  const kinds = { server: api.SpanKind.SERVER, internal: api.SpanKind.INTERNAL }
  return {
    start({ name, kind, parent, facts }) {
      const around = parent ? contextOf(api, parent) : api.ROOT_CONTEXT
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes: facts }, around)
      return {
        trace: traceOf(span),
        end({ facts: more, error }) {
          if (more) span.setAttributes(more)
          if (error !== undefined) {
            span.setAttribute('error.type', error)
            span.setStatus({ code: api.SpanStatusCode.ERROR })
          }
          span.end()
        },
      }
    },
  }
}

function contextOf(api: Sdk['api'], { traceparent, tracestate }: TraceContext): Context {
  const [, traceId = '', spanId = '', flags = '00'] = traceparent.split('-')
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  const traceState = tracestate === undefined ? {} : { traceState: api.createTraceState(tracestate) }
  return api.trace.setSpanContext(api.ROOT_CONTEXT, { ...context, ...traceState })
}

function traceOf(span: OtelSpan): TraceContext {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext()
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  const tracestate = traceState?.serialize()
  return tracestate ? { traceparent, tracestate } : { traceparent }
}
