import { Hono, type MiddlewareHandler } from 'hono'
import { AppError, type Control } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import { controlApi, methodNotAllowed } from './control-api.ts'
import type { HttpApp, HttpEnv } from './env.ts'
import { createErrorReporter, problemResponse } from './errors.ts'
import { guard, securityHeaders } from './guard.ts'
import { HTTP_LIMITS, type HttpLimits } from './limits.ts'
import { pageResponse } from './page.ts'

export interface HttpAppOptions {
  control: Control
  /** Whether this is the admin token; compares in constant time. */
  isAdmin: (token: string) => boolean
  isReady: () => boolean
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
}

/** An endpoint that takes whole requests, whatever their method. */
export interface Mount {
  /** `/mcp` */
  path: `/${string}`
  handle(request: Request): Promise<Response>
}

/** The web application: `/health`, `/ready`, a page, and the control API. */
export function createHttpApp(options: HttpAppOptions): HttpApp {
  const { control, isAdmin, isReady, status, log } = options
  const report = createErrorReporter({ log })
  const limits = { ...HTTP_LIMITS, ...options.limits }
  const app = new Hono<HttpEnv>()
  app.use('*', logged(log), securityHeaders, guard({ allowedHosts: options.allowedHosts }))
  app.get('/', () => pageResponse({ ...status(), ready: isReady() }))
  app.get('/health', c => c.json({ status: 'ok', ...status(), ...proof(c.req.query('challenge'), c.env, options) }))
  app.get('/ready', c => (isReady() ? c.json({ status: 'ready' }) : c.json(NOT_READY, 503, { 'Retry-After': '1' })))
  for (const path of ['/', '/health', '/ready']) app.all(path, methodNotAllowed('GET, HEAD'))
  app.route('/api/v1/control', controlApi({ control, isAdmin, limits, report }))
  for (const { path, handle } of options.mounts ?? []) app.all(path, c => handle(c.req.raw))
  app.notFound(c => problemResponse(new AppError('NAME_UNKNOWN', `Nothing is at "${c.req.path}".`)))
  app.onError(error => problemResponse(report(error)))
  return app
}

const NOT_READY = {
  status: 'starting',
  reason: 'The first look at all definitions is not over, or the server is stopping. Ask again.',
}

/** One line per request, without query, headers or body: those may hold secrets. */
function logged(log: Log): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const start = performance.now()
    await next()
    const durationMs = Math.round(performance.now() - start)
    log.debug('request', { method: c.req.method, path: c.req.path, status: c.res.status, durationMs })
  }
}

/** Long enough to be fresh every time, short enough to cost nothing. */
const CHALLENGE = /^[\w-]{22,128}$/

function proof(challenge: string | undefined, env: HttpEnv['Bindings'], { prove }: HttpAppOptions): { proof?: string } {
  const port = env.incoming.socket.localPort
  if (!prove || port === undefined || challenge === undefined || !CHALLENGE.test(challenge)) return {}
  return { proof: prove(challenge, port) }
}
