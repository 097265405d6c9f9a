import type { IncomingHttpHeaders } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Handler, Hono, type MiddlewareHandler } from 'hono'
import { AppError, type Control } from '../../contracts/index.ts'
import type { CancelSignal, Log, Tracer } from '../../core/kernel/index.ts'
import { type PlainAnswer, writeAnswer } from './answers.ts'
import { type ApiDoor, capabilitiesApi, createApi } from './api.ts'
import { disconnectSignal, type HttpApp, type HttpEnv } from './context.ts'
import { controlApi, methodNotAllowed } from './control-api.ts'
import type { Persons } from './control-caller.ts'
import { createErrorReporter, problemResponse } from './errors.ts'
import { guard, HTTP_LIMITS, type HttpLimits, securityHeaders } from './guard.ts'
import { type MetricsOptions, metricsRoute, observed, type ServedRequest, traced } from './metrics.ts'
import { aiCatalogue, type DiscoveryOptions, serverCard } from './openapi.ts'
import { pageResponse } from './page.ts'

export interface HttpAppOptions {
  control: Control
  /** Whether this is the admin token; compares in constant time. */
  isAdmin: (token: string) => boolean
  /** How persons get to the part of the control API that is theirs; only the owner does without it. */
  persons?: Persons
  /** Who answers the API; there is none without it. */
  api?: ApiDoor
  /** From then on there is something to be had here; until then everybody waits who wants more than to know how it is. */
  opened?: Promise<void>
  isReady: () => boolean
  /** Whether it is on its way out: what runs ends, and nothing new is begun. */
  isStopping?: () => boolean
  /** Whether the store answers now; without it that is not asked. */
  storeAnswers?: () => Promise<boolean>
  status: () => { version: string; generation: number }
  /** Hosts to answer to besides the loopback names: `box.lan`, or `box.lan:8443` for that port alone. */
  allowedHosts: () => readonly string[]
  /**
   * Proves to a client that knows the admin token that this server knows it too, without either saying it. `port` is the
   * one the question came in on, so that a proof cannot be passed on from another server.
   */
  prove?: (challenge: string, port: number) => string
  log: Log
  limits?: Partial<HttpLimits>
  /** Endpoints of other protocols. They check credentials themselves; Host and Origin are checked before they are asked. */
  mounts?: readonly Mount[]
  /** What is measured; there is no `/metrics` without it. */
  metrics?: MetricsOptions
  /** What registries may know; there are no discovery documents without it. */
  discovery?: Omit<DiscoveryOptions, 'version'>
  /** Told of every request that was answered. */
  onRequest?: (request: ServedRequest) => void
  /** Follows requests to the mounts and the control API. */
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
    // What is in front of the application would miss a client that goes just when a stream begins, and keep that for ever.
    writeAnswer(answer, outgoing)
    return RESPONSE_ALREADY_SENT
  }
}

function isStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') ?? false
}

const STORE_AWAY = {
  status: 'away',
  reason: 'The store does not answer, so nothing can be written down. It is tried again by itself. Ask again.',
}

const NOT_READY = {
  status: 'starting',
  reason: 'The first look at all definitions is not over, or the server is stopping. Ask again.',
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
  /** Answers; the signal is given when the client has gone before it got all of it. */
  handle(request: Request, gone: CancelSignal): Promise<Response | PlainAnswer>
  /** What of it needs no `Request`. */
  short?: ShortMount
}

/** A request that is there as a whole. */
export interface WholeRequest {
  readonly headers: IncomingHttpHeaders
  readonly body: Uint8Array
}

/**
 * What an endpoint answers without a `Request`, a router and a `Response`, which together cost more than a small call. The
 * application serves whatever is not taken here, and refuses whatever is to be refused.
 */
export interface ShortMount {
  /** Whether a request is worth reading, by its headers alone. */
  isFor(headers: IncomingHttpHeaders): boolean
  /** The answer, or nothing when the request is one for the application. */
  answer(request: WholeRequest, gone: CancelSignal): Promise<Response | PlainAnswer> | undefined
}
