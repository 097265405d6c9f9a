import type * as Api from '@opentelemetry/api'
import type { Context, Span as OtelSpan } from '@opentelemetry/api'
import type { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import type { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import type * as Resources from '@opentelemetry/resources'
import type * as Trace from '@opentelemetry/sdk-trace-base'
import type { TraceContext } from '../../contracts/index.ts'
import type { Tracer } from '../../core/kernel/index.ts'

/** The packages of OpenTelemetry. They are heavy and optional, so they are loaded when traces are wanted. */
export async function loadSdk(protocol: 'http/protobuf' | 'http/json'): Promise<Sdk> {
  const [api, sdk, resources, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/resources'),
    protocol === 'http/json'
      ? import('@opentelemetry/exporter-trace-otlp-http')
      : import('@opentelemetry/exporter-trace-otlp-proto'),
  ])
  return { api, sdk, resources, OTLPTraceExporter }
}

export interface Sdk {
  readonly api: typeof Api
  readonly sdk: typeof Trace
  readonly resources: typeof Resources
  readonly OTLPTraceExporter: typeof JsonExporter | typeof ProtobufExporter
}

export function installCommand(protocol: 'http/protobuf' | 'http/json'): string {
  const exporter = `@opentelemetry/exporter-trace-otlp-${protocol === 'http/json' ? 'http' : 'proto'}@^0.223`
  const packages = ['api@^1.9', 'sdk-trace-base@^2', 'resources@^2'].map(name => `@opentelemetry/${name}`)
  return ['npm install', ...packages, exporter].join(' ')
}

/** Our `Tracer` port over one of OpenTelemetry. */
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
