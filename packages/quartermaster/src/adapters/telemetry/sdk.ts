import type * as Api from '@opentelemetry/api'
import type { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import type { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import type * as Resources from '@opentelemetry/resources'
import type * as Trace from '@opentelemetry/sdk-trace-base'

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

/** What is used of them. */
export interface Sdk {
  readonly api: typeof Api
  readonly sdk: typeof Trace
  readonly resources: typeof Resources
  readonly OTLPTraceExporter: typeof JsonExporter | typeof ProtobufExporter
}

/** How to get them. */
export function installCommand(protocol: 'http/protobuf' | 'http/json'): string {
  const exporter = `@opentelemetry/exporter-trace-otlp-${protocol === 'http/json' ? 'http' : 'proto'}@^0.223`
  const packages = ['api@^1.9', 'sdk-trace-base@^2', 'resources@^2'].map(name => `@opentelemetry/${name}`)
  return ['npm install', ...packages, exporter].join(' ')
}
