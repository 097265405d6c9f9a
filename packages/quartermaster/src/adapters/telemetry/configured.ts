/** The variables of OpenTelemetry that decide whether and how traces leave. The packages read the rest themselves. */
export type TelemetryEnvironment = Readonly<Record<string, string | undefined>>

/** How traces leave, if anybody wants them; or why they cannot. */
export type TraceExport =
  | { readonly protocol: 'http/protobuf' | 'http/json' }
  | { readonly problem: string }
  | undefined

/** Reads `OTEL_SDK_DISABLED`, `OTEL_TRACES_EXPORTER`, and the variables of the exporter. Without any of them nobody traces. */
export function configuredExport(env: TelemetryEnvironment): TraceExport {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return undefined
  const exporter = env.OTEL_TRACES_EXPORTER || undefined
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT
  if (exporter === 'none' || (exporter === undefined && !endpoint)) return undefined
  if (exporter !== undefined && exporter !== 'otlp') {
    return { problem: `OTEL_TRACES_EXPORTER is "${exporter}", and only "otlp" and "none" are known here.` }
  }
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL || 'http/protobuf'
  if (protocol === 'http/protobuf' || protocol === 'http/json') return { protocol }
  return { problem: `Traces cannot be sent by "${protocol}". Set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf.` }
}
