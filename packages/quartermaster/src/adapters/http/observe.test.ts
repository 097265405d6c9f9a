import { describe, expect, it, onTestFinished } from 'vitest'
import type { Span, SpanStart, Tracer } from '../../core/kernel/index.ts'
import { fakeControl, STATUS_REPORT } from '../../testing/fake-control.ts'
import { startHttpServer, type TestServerOptions } from '../../testing/http-server.ts'
import type { ServedRequest } from './index.ts'

async function started(options: TestServerOptions = {}) {
  const requests: ServedRequest[] = []
  const server = await startHttpServer({ onRequest: request => void requests.push(request), ...options })
  onTestFinished(() => server.close(0))
  return { ...server, requests }
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const OURS = `00-${TRACE}-1111111111111111-01`

/** Remembers what it was told. */
function noting() {
  const begun: SpanStart[] = []
  const ended: Parameters<Span['end']>[0][] = []
  const tracer: Tracer = {
    start(span) {
      begun.push(span)
      return { trace: { traceparent: OURS }, end: end => void ended.push(end) }
    },
  }
  return { tracer, begun, ended }
}

describe('what is counted', () => {
  it('is the route and not the path, so that nobody can invent labels', async () => {
    const { url, post, requests } = await started({ control: fakeControl({ status: async () => STATUS_REPORT }) })
    await fetch(`${url}/health?x=1`)
    await fetch(`${url}/made/up`)
    await post('status', {})
    await post('no-such-operation', {})
    expect(requests.map(({ route, method, status }) => [route, method, status])).toEqual([
      ['/health', 'GET', 200],
      ['other', 'GET', 404],
      ['/api/v1/control/:operation', 'POST', 200],
      ['/api/v1/control/:operation', 'POST', 404],
    ])
  })
})

describe('a trace', () => {
  it('goes on below the span that the client names', async () => {
    const { tracer, begun, ended } = noting()
    const seen: unknown[] = []
    const control = fakeControl({
      async status(_input, options) {
        seen.push(options?.trace)
        return STATUS_REPORT
      },
    })
    const { post } = await started({ tracer, control })
    const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`
    await (await post('status', {}, { headers: { traceparent } })).text()
    expect(begun).toEqual([
      {
        name: 'POST /api/v1/control/:operation',
        kind: 'server',
        parent: { traceparent },
        facts: { 'http.request.method': 'POST', 'http.route': '/api/v1/control/:operation' },
      },
    ])
    expect(seen).toEqual([{ traceparent: OURS }])
    await expect.poll(() => ended).toEqual([{ facts: { 'http.response.status_code': 200 } }])
  })

  it('reaches mounts, and asks for nothing where it is no request of an agent or the owner', async () => {
    const { tracer, begun } = noting()
    const handle = async (request: Request) => new Response(request.headers.get('traceparent'))
    const { url } = await started({ tracer, mounts: [{ path: '/mcp', handle }] })
    expect(await (await fetch(`${url}/mcp`, { method: 'POST' })).text()).toBe(OURS)
    await fetch(`${url}/health`)
    expect(begun.map(({ name }) => name)).toEqual(['POST /mcp'])
  })

  it('is named in the line about the request, also where nobody traces', async () => {
    const { url, lines } = await started()
    await fetch(`${url}/health`, { headers: { traceparent: `00-${TRACE}-00f067aa0ba902b7-00` } })
    expect(lines.join()).toContain(`"traceId":"${TRACE}"`)
  })
})
