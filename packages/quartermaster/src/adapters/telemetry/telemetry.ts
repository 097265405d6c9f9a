import { messageOf } from '../../contracts/index.ts'
import type { Log, Tracer } from '../../core/kernel/index.ts'
import { createTracer, installCommand, loadSdk, type Sdk } from './sdk.ts'

export interface TelemetryDeps {
  readonly env: TelemetryEnvironment
  readonly version: string
  readonly log: Log
  /** Loads the packages; the installed ones by default. */
  readonly load?: typeof loadSdk
}

/** Traces for a collector. */
export interface Telemetry {
  /** Absent where the environment does not enable traces, or where they cannot be set up. */
  readonly tracer: Tracer | undefined
  /** Sends the remaining spans. */
  close(): Promise<void>
}

/** Sets up OpenTelemetry from the environment. Problems are logged; tools work without traces. */
export async function openTelemetry({ env, version, log, load = loadSdk }: TelemetryDeps): Promise<Telemetry> {
  const wanted = configuredExport(env)
  if (!wanted) return NONE
  if ('problem' in wanted) {
    log.warn(`There are no traces. ${wanted.problem}`)
    return NONE
  }
  try {
    return start(await load(wanted.protocol), { version, log })
  } catch (error) {
    const fix = isMissing(error) ? `Their packages are not installed: ${installCommand(wanted.protocol)}` : ''
    log.warn(`There are no traces. ${fix}`.trim(), fix ? undefined : { error: messageOf(error) })
    return NONE
  }
}

const NONE: Telemetry = { tracer: undefined, close: async () => {} }

function start(sdk: Sdk, { version, log }: { version: string; log: Log }): Telemetry {
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } = sdk.resources
  const exporter = reporting(new sdk.OTLPTraceExporter(), log)
  const provider = new sdk.sdk.BasicTracerProvider({
    // Later values win, so the environment can set another name.
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'quartermaster', 'service.version': version }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new sdk.sdk.BatchSpanProcessor(exporter)],
  })
  return {
    tracer: createTracer(sdk, provider.getTracer('quartermaster', version)),
    close: () => within(CLOSING_MS, provider.shutdown()),
  }
}

/** How long a collector that does not answer may delay the end of the process. */
const CLOSING_MS = 2_000

interface Exporter {
  export(spans: never, done: (result: { code: number; error?: Error }) => void): void
}

/** Logs once when traces do not arrive, and once when they arrive again, instead of once per batch. */
function reporting<T extends Exporter>(exporter: T, log: Log): T {
  let isFailing = false
  const send = exporter.export.bind(exporter)
  exporter.export = (spans, done) =>
    send(spans, result => {
      const hasFailed = result.code !== 0
      if (hasFailed && !isFailing) log.warn('Traces do not arrive.', { error: messageOf(result.error) })
      if (!hasFailed && isFailing) log.info('Traces arrive again.')
      isFailing = hasFailed
      done(result)
    })
  return exporter
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const enough = new Promise<void>(resolve => {
    timer = setTimeout(resolve, ms)
  })
  // Spans that cannot be sent were reported when they failed.
  await Promise.race([work.catch(() => {}), enough])
  clearTimeout(timer)
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
}

/** The variables that decide whether and how traces are exported. The packages read the others themselves. */
type TelemetryEnvironment = Readonly<Record<string, string | undefined>>

/** How traces are exported, if at all; or why they cannot be. */
type TraceExport = { readonly protocol: 'http/protobuf' | 'http/json' } | { readonly problem: string } | undefined

/** Reads `OTEL_SDK_DISABLED`, `OTEL_TRACES_EXPORTER`, and the variables of the exporter. Without any of them tracing is off. */
function configuredExport(env: TelemetryEnvironment): TraceExport {
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
