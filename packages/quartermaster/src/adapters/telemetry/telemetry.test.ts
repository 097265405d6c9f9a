import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { collectedLog } from '../../testing/collected-log.ts'
import { openTelemetry, type TelemetryDeps } from './index.ts'

interface Received {
  readonly path: string
  readonly type: string
  readonly body: Buffer
}

/** A collector as far as it concerns us: it takes what comes, and keeps it. */
async function collector(status = 200) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    received.push({
      path: request.url ?? '',
      type: request.headers['content-type'] ?? '',
      body: Buffer.concat(parts),
    })
    response.writeHead(status, { 'Content-Type': 'application/json' }).end('{}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { received, url }
}

/** The packages read the environment of the process. */
function withEnvironment(env: Record<string, string>) {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
}

async function opened(env: Record<string, string>, load?: TelemetryDeps['load']) {
  withEnvironment(env)
  const { log, lines } = collectedLog()
  const telemetry = await openTelemetry({ env: process.env, version: '1.2.3', log, ...(load && { load }) })
  onTestFinished(() => telemetry.close())
  return { ...telemetry, lines }
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01`, tracestate: 'vendor=kept' }

describe('traces', () => {
  it('arrive at a collector, each span below its parent', async () => {
    const { url, received } = await collector()
    const { tracer, close } = await opened({
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_SERVICE_NAME: 'my-gateway',
    })
    const outer = tracer?.start({ name: 'POST /mcp', kind: 'server', parent: PARENT, facts: { route: '/mcp' } })
    const inner = tracer?.start({ name: 'execute_tool add', kind: 'internal', parent: outer?.trace, facts: {} })
    inner?.end({ facts: { outcome: 'failed' }, error: 'DEADLINE_EXCEEDED' })
    outer?.end({})
    expect(outer?.trace.tracestate).toBe('vendor=kept')
    await close()
    const [first] = received
    expect([first?.path, first?.type]).toEqual(['/v1/traces', 'application/json'])
    const [group] = JSON.parse(String(first?.body)).resourceSpans
    expect(JSON.stringify(group.resource)).toContain('"my-gateway"')
    const [child, root] = group.scopeSpans[0].spans
    expect(root).toMatchObject({ name: 'POST /mcp', kind: 2, traceId: TRACE, parentSpanId: '00f067aa0ba902b7' })
    expect(child).toMatchObject({ name: 'execute_tool add', traceId: TRACE, parentSpanId: root.spanId })
    expect(JSON.stringify(child.attributes)).toContain('DEADLINE_EXCEEDED')
    expect(child.status.code).toBe(2)
  })

  it('are sent as protobuf unless the environment says otherwise', async () => {
    const { url, received } = await collector()
    const { tracer, close } = await opened({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/own/path` })
    tracer?.start({ name: 'execute_tool add', kind: 'internal', facts: {} }).end({})
    await close()
    expect(received.map(({ path, type }) => [path, type])).toEqual([['/own/path', 'application/x-protobuf']])
    expect(received[0]?.body.includes('execute_tool add')).toBe(true)
    expect(received[0]?.body.includes('quartermaster')).toBe(true)
  })

  it('that a client does not want recorded are not', async () => {
    const { url, received } = await collector()
    const { tracer, close } = await opened({ OTEL_EXPORTER_OTLP_ENDPOINT: url })
    const parent = { traceparent: `00-${TRACE}-00f067aa0ba902b7-00` }
    const span = tracer?.start({ name: 'x', kind: 'server', parent, facts: {} })
    span?.end({})
    await close()
    expect(received).toEqual([])
    expect(span?.trace.traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`))
  })

  it('that do not arrive are reported once', async () => {
    const { url } = await collector(400)
    const { tracer, close, lines } = await opened({
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1',
    })
    for (const name of ['a', 'b', 'c']) tracer?.start({ name, kind: 'internal', facts: {} }).end({})
    await close()
    expect(lines.filter(line => line.includes('Traces do not arrive.'))).toHaveLength(1)
  })

  it.each([
    {},
    { OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' },
    { OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' },
  ])('are not made unless they are wanted: %j', async env => {
    const loaded = vi.fn<NonNullable<TelemetryDeps['load']>>()
    const { tracer, lines } = await opened(env as Record<string, string>, loaded)
    expect(tracer).toBeUndefined()
    expect(loaded).not.toHaveBeenCalled()
    expect(lines).toEqual([])
  })

  it.each([
    [{ OTEL_TRACES_EXPORTER: 'zipkin' }, '"zipkin"'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, '"grpc"'],
  ])('that cannot be made are explained, and nothing else suffers: %j', async (env, word) => {
    const { tracer, lines } = await opened(env)
    expect(tracer).toBeUndefined()
    expect(lines).toEqual([expect.stringContaining(word)])
  })

  it('say what to install when the packages are not there', async () => {
    const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
    const load = () => Promise.reject(missing)
    const { tracer, lines } = await opened({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }, load)
    expect(tracer).toBeUndefined()
    expect(lines).toEqual([expect.stringContaining('npm install @opentelemetry/api@^1.9')])
  })
})
