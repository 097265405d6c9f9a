import type { MiddlewareHandler } from 'hono'
import { AppError } from '../../contracts/index.ts'
import { createInFlight } from '../../core/kernel/index.ts'
import type { HttpEnv } from './env.ts'

/** Lets only those through who show the admin token. */
export function requireAdmin(isAdmin: (token: string) => boolean): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const token = /^Bearer +([\w.~+/=-]+)$/i.exec(c.req.header('authorization') ?? '')?.[1]
    if (token === undefined || !isAdmin(token)) {
      const hint = 'Send "Authorization: Bearer …" with the admin token of the data folder.'
      throw new AppError(
        'TOKEN_INVALID',
        `This needs the admin token, and ${token ? 'this is another' : 'none was sent'}. ${hint}`,
      )
    }
    await next()
  }
}

/** Lets so many requests through at once, each until its answer has been sent. */
export function limitInFlight(most: number): MiddlewareHandler<HttpEnv> {
  const inFlight = createInFlight({ most, what: 'requests under way' })
  return async (c, next) => {
    c.env.outgoing.once('close', inFlight.enter('admin'))
    await next()
  }
}
