import type { Context, MiddlewareHandler } from 'hono'
import type { Settings } from '../../contracts/index.ts'
import { requireAdmin } from './admin.ts'
import type { HttpEnv } from './env.ts'
import { isLoopbackName } from './guard.ts'

export interface MetricsOptions {
  /** Everything that is measured, in the text format of Prometheus. */
  text(): string | Promise<string>
  /** Who may read it. */
  access(): Settings['metricsAccess']
}

/** `GET /metrics`. Names of capabilities and dependencies are in it, so it is for this machine unless the owner says more. */
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

/** A request that somebody passed on comes from here as well, so it must also be meant for here. */
function isFromHere(c: Context<HttpEnv>): boolean {
  const isForwarded = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'].some(
    name => c.req.header(name) !== undefined,
  )
  const address = c.env.incoming.socket.remoteAddress ?? ''
  return !isForwarded && LOOPBACK_ADDRESS.test(address) && isLoopbackName(c.req.header('host') ?? '')
}

const LOOPBACK_ADDRESS = /^(127\.|::ffff:127\.|::1$)/
