import type { IncomingHttpHeaders } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Handler, Hono, type MiddlewareHandler } from 'hono'
import { AppError, type Control } from '../../contracts/index.ts'
import type { CancelSignal, Log, Tracer } from '../../core/kernel/index.ts'
import { type PlainAnswer, writeAnswer } from './answers.ts'
import { type ApiAccess, capabilitiesApi, createApi } from './api.ts'
import { controlApi, methodNotAllowed, type Persons } from './control-api.ts'
import { createErrorReporter, problemResponse } from './errors.ts'
import { guard, securityHeaders } from './guard.ts'
import { type MetricsOptions, metricsRoute, observed, type ServedRequest, traced } from './metrics.ts'
import { aiCatalogue, type DiscoveryOptions, serverCard } from './openapi.ts'
import { pageResponse } from './page.ts'
import { disconnectSignal, HTTP_LIMITS, type HttpApp, type HttpEnv, type HttpLimits } from './request.ts'

export interface HttpAppOptions {
  control: Control
  /** Whether this is the admin token; compares in constant time. */
  isAdmin: (token: string) => boolean
  /** Access of persons to the control API; without it only the owner can use it. */
  persons?: Persons
  /** The API; there is none without it. */
  api?: ApiAccess
  /** Requests wait for this, except those about health and readiness. */
  opened?: Promise<void>
  isReady: () => boolean
  /** Whether the server stops: running work ends, and no new work begins. */
  isStopping?: () => boolean
  /** Whether the store answers now; not checked without it. */
  storeAnswers?: () => Promise<boolean>
  status: () => { version: string; generation: number }
  /** Hosts to answer to besides the loopback names: `box.lan`, or `box.lan:8443` for that port alone. */
  allowedHosts: () => readonly string[]
  /**
   * Proves to a client with the admin token that this server has it too, without sending it. `port` is the one of the request, so
   * that a proof from another server cannot be passed on.
   */
  prove?: (challenge: string, port: number) => string
  log: Log
  limits?: Partial<HttpLimits>
  /** Endpoints of other protocols. They check credentials themselves; Host and Origin are checked before they are asked. */
  mounts?: readonly Mount[]
  /** There is no `/metrics` without it. */
  metrics?: MetricsOptions
  /** There are no discovery documents without it. */
  discovery?: Omit<DiscoveryOptions, 'version'>
  /** Called for every answered request. */
  onRequest?: (request: ServedRequest) => void
  /** Traces requests to the mounts and the control API. */
  tracer?: Tracer | undefined
}

/** The web application: `/health`, `/ready`, a page, and the control API. */
export function createHttpApp(options: HttpAppOptions): HttpApp {
  const { control, isAdmin, persons, isReady, status, log } = options
  const report = createErrorReporter({ log })
  const limits = { ...HTTP_LIMITS, ...options.limits }
  const app = new Hono<HttpEnv>()
  app.use('*', observed(options), securityHeaders, guard({ allowedHosts: options.allowedHosts }))
  app.get('/', () => pageResponse({ ...status(), ready: isReady() }))
  const health = () => (options.isStopping?.() ? 'stopping' : 'ok')
  app.get('/health', c => c.json({ status: health(), ...status(), ...proof(c.req.query('challenge'), c.env, options) }))
  app.get('/ready', async c => {
    if (!isReady()) return c.json(NOT_READY, 503, { 'Retry-After': '1' })
    const answers = (await options.storeAnswers?.()) ?? true
    return answers ? c.json({ status: 'ready' }) : c.json(STORE_AWAY, 503, { 'Retry-After': '1' })
  })
  for (const path of ['/', '/health', '/ready']) app.all(path, methodNotAllowed('GET, HEAD'))
  if (options.metrics) serveMetrics(app, options.metrics, isAdmin)
  if (options.discovery) serveDiscovery(app, { ...options.discovery, version: status().version })
  if (options.opened) app.use('*', heldUntil(options.opened))
  if (options.tracer) traceRequests(app, options.tracer, options.mounts)
  app.route('/api/v1/control', controlApi({ control, isAdmin, persons, limits, report }))
  app.route('/api/v1/capabilities', capabilitiesApi({ control, isAdmin, limits, report }))
  if (options.api) {
    const { version } = status()
    app.route('/api/v1', createApi({ ...options.api, isAdmin, limits, report, version }))
  }
  for (const { path, handle } of options.mounts ?? []) app.all(path, mounted(handle))
  app.notFound(c => problemResponse(new AppError('NAME_UNKNOWN', `Nothing is at "${c.req.path}".`)))
  app.onError(error => problemResponse(report(error)))
  return app
}

function serveMetrics(app: HttpApp, metrics: MetricsOptions, isAdmin: HttpAppOptions['isAdmin']): void {
  app.get('/metrics', ...metricsRoute(metrics, isAdmin))
  app.all('/metrics', methodNotAllowed('GET, HEAD'))
}

function serveDiscovery(app: HttpApp, discovery: DiscoveryOptions): void {
  const documents = { [`${discovery.mcpPath}/server-card`]: serverCard, '/.well-known/ai-catalog.json': aiCatalogue }
  for (const [path, document] of Object.entries(documents)) {
    app.get(path, c => document(c, discovery))
    app.all(path, methodNotAllowed('GET, HEAD'))
  }
}

function heldUntil(opened: Promise<void>): MiddlewareHandler<HttpEnv> {
  return async (_c, next) => {
    await opened
    await next()
  }
}

function traceRequests(app: HttpApp, tracer: Tracer, mounts: readonly Mount[] = []): void {
  for (const { path } of mounts) app.use(path, traced(tracer, path))
  app.use('/api/v1/control/:operation', traced(tracer, '/api/v1/control/:operation'))
}

function mounted(handle: Mount['handle']): Handler<HttpEnv> {
  return async c => {
    const { outgoing } = c.env
    const answer = await handle(c.req.raw, disconnectSignal(outgoing))
    if (answer instanceof Response && !isStream(answer)) return answer
    // The adapter in front of the application would miss a client that disconnects when a stream begins, and never end it.
    writeAnswer(answer, outgoing)
    return RESPONSE_ALREADY_SENT
  }
}

function isStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') ?? false
}

const STORE_AWAY = {
  status: 'away',
  reason: 'The store does not answer, so nothing can be written. It is retried automatically. Ask again.',
}

const NOT_READY = {
  status: 'starting',
  reason: 'The definitions are still being checked, or the server is stopping. Ask again.',
}

/** Long enough to be fresh every time, short enough to cost nothing. */
const CHALLENGE = /^[\w-]{22,128}$/

function proof(challenge: string | undefined, env: HttpEnv['Bindings'], { prove }: HttpAppOptions): { proof?: string } {
  const port = env.incoming.socket.localPort
  if (!prove || port === undefined || challenge === undefined || !CHALLENGE.test(challenge)) return {}
  return { proof: prove(challenge, port) }
}

/** An endpoint that takes whole requests, whatever their method. */
export interface Mount {
  /** `/mcp` */
  path: `/${string}`
  /** The signal aborts when the client disconnects before the answer is complete. */
  handle(request: Request, gone: CancelSignal): Promise<Response | PlainAnswer>
  /** Its part that needs no `Request`. */
  short?: ShortMount
}

/** A request that was read completely. */
export interface WholeRequest {
  readonly headers: IncomingHttpHeaders
  readonly body: Uint8Array
}

/**
 * The part of an endpoint that needs no `Request`, router and `Response`, which together cost more than a small call. The
 * application serves, or refuses, all other requests.
 */
export interface ShortMount {
  /** Whether a request is worth reading, by its headers alone. */
  isFor(headers: IncomingHttpHeaders): boolean
  /** The answer, or nothing when the application has to serve the request. */
  answer(request: WholeRequest, gone: CancelSignal): Promise<Response | PlainAnswer> | undefined
}
