import type { Context, MiddlewareHandler } from 'hono'
import { AppError } from '../../contracts/index.ts'
import { createInFlight } from '../../core/kernel/index.ts'
import type { HttpEnv } from './env.ts'

/** Lets only those through who show the admin token. */
export function requireAdmin(isAdmin: (token: string) => boolean): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const token = bearerIn(c)
    if (token === undefined || !isAdmin(token)) throw notAdmin(token)
    await next()
  }
}

/** The token that a request shows. */
export function bearerIn(c: Context<HttpEnv>): string | undefined {
  return /^Bearer +([\w.~+/=-]+)$/i.exec(c.req.header('authorization') ?? '')?.[1]
}

export function notAdmin(token: string | undefined): AppError {
  const hint = 'Send "Authorization: Bearer …" with the admin token of the data folder.'
  const message = `This needs the admin token, and ${token ? 'this is another' : 'none was sent'}. ${hint}`
  return new AppError('TOKEN_INVALID', message)
}

/** Gives a place back when the answer has been sent, or at once to whoever has gone already: nobody will close that again. */
export function leaveWhenClosed({ env: { outgoing } }: Context<HttpEnv>, leave: () => void): void {
  outgoing.once('close', leave)
  if (outgoing.destroyed) leave()
}

/** Lets so many requests of one visitor through at once, each until its answer has been sent. */
export function limitInFlight(
  most: number,
  visitorOf: (c: Context<HttpEnv>) => string = () => 'admin',
): MiddlewareHandler<HttpEnv> {
  const inFlight = createInFlight({ most, what: 'requests under way' })
  return async (c, next) => {
    leaveWhenClosed(c, inFlight.enter(visitorOf(c)))
    await next()
  }
}
