import type { Context, MiddlewareHandler } from 'hono'
import { routePath } from 'hono/route'
import type { Settings } from '../../contracts/index.ts'
import { type Log, type Tracer, traceFrom, traceIdOf } from '../../core/kernel/index.ts'
import { isLoopbackName, requireAdmin } from './guard.ts'
import type { HttpEnv } from './request.ts'

export interface MetricsOptions {
  /** Everything that is measured, in the text format of Prometheus. */
  text(): string | Promise<string>
  /** Which clients may read it. */
  access(): Settings['metricsAccess']
}

/** `GET /metrics`. It contains names of capabilities and dependencies, so it is for this machine unless the owner allows more. */
export function metricsRoute({ text, access }: MetricsOptions, isAdmin: (token: string) => boolean) {
  const admin = requireAdmin(isAdmin)
  const allow: MiddlewareHandler<HttpEnv> = async (c, next) => {
    const isFree = access() === 'open' || (access() === 'loopback' && isFromHere(c))
    return isFree ? next() : admin(c, next)
  }
  const answer = async (c: Context<HttpEnv>) => c.body(await text(), 200, { 'Content-Type': CONTENT_TYPE })
  return [allow, answer] as const
}

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** A request through a local proxy comes from this machine too, so `Host` must be a loopback name as well. */
function isFromHere(c: Context<HttpEnv>): boolean {
  const isForwarded = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'].some(
    name => c.req.header(name) !== undefined,
  )
  const address = c.env.incoming.socket.remoteAddress ?? ''
  return !isForwarded && LOOPBACK_ADDRESS.test(address) && isLoopbackName(c.req.header('host') ?? '')
}

const LOOPBACK_ADDRESS = /^(127\.|::ffff:127\.|::1$)/

export interface ServedRequest {
  /** The pattern it matched, such as `/api/v1/control/:operation`; `other` when none did. */
  readonly route: string
  readonly method: string
  readonly status: number
  /** Until the answer began; a stream may go on for hours. */
  readonly durationMs: number
}

export interface ObserveOptions {
  readonly log: Log
  readonly onRequest?: ((request: ServedRequest) => void) | undefined
}

/** One line per request, without query, headers or body: those may hold secrets. */
export function observed(options: ObserveOptions): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const start = performance.now()
    await next()
    const durationMs = performance.now() - start
    const { method, path } = c.req
    const { outgoing } = c.env
    const status = outgoing.headersSent ? outgoing.statusCode : c.res.status
    const request = { route: routeOf(routePath(c, -1)), method, status, durationMs }
    observe(options, request, { path, traceparent: c.req.header('traceparent') })
  }
}

/** Counts and logs a request. */
export function observe(
  { log, onRequest }: ObserveOptions,
  request: ServedRequest,
  { path, traceparent }: { path: string; traceparent: unknown },
): void {
  onRequest?.(request)
  const { method, status, durationMs } = request
  const trace = traceparent === undefined ? undefined : traceFrom(traceparent)
  const facts = { method, path, status, durationMs: Math.round(durationMs) }
  log.debug('request', trace ? { ...facts, traceId: traceIdOf(trace) } : facts)
}

/** A span per request, a child of the client's; spans of the work that the request starts are its children. */
export function traced(tracer: Tracer, route: string): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const { method } = c.req
    const { headers } = c.req.raw
    const span = tracer.start({
      name: `${method} ${route}`,
      kind: 'server',
      parent: traceFrom(headers.get('traceparent'), headers.get('tracestate')),
      facts: { 'http.request.method': method, 'http.route': route },
    })
    headers.set('traceparent', span.trace.traceparent)
    if (span.trace.tracestate !== undefined) headers.set('tracestate', span.trace.tracestate)
    const { outgoing } = c.env
    outgoing.once('close', () => {
      const { statusCode } = outgoing
      const facts = { 'http.response.status_code': statusCode }
      span.end(statusCode < 500 ? { facts } : { facts, error: String(statusCode) })
    })
    await next()
  }
}

/** Unknown paths share one label, so that clients cannot create labels. */
function routeOf(pattern: string): string {
  if (pattern.endsWith('*')) return 'other'
  // The pattern of a parameter is left out: `:rest{.+}` is `:rest`.
  return pattern.replaceAll(/\{[^}]*\}/g, '')
}
