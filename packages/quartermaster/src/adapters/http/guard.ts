import type { IncomingMessage } from 'node:http'
import type { Context, MiddlewareHandler } from 'hono'
import { AppError } from '../../contracts/index.ts'
import { createInFlight } from '../../core/kernel/index.ts'
import type { HttpEnv } from './request.ts'

/**
 * Refuses requests that were meant for another server. A web page may point its own host name at this machine (DNS rebinding) or
 * post here blindly; the first shows in `Host`, the second in `Origin`.
 */
export function guard(options: { allowedHosts: () => readonly string[] }): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const headers = { host: c.req.header('host'), origin: c.req.header('origin') }
    const reason = refusalReason(c.env.incoming, headers, options.allowedHosts())
    if (reason !== undefined) throw new AppError('REQUEST_REFUSED', reason)
    await next()
  }
}

/** Why a request was not meant for this server, or nothing. */
export function refusalReason(
  { url, socket }: Pick<IncomingMessage, 'url' | 'socket'>,
  { host = '', origin }: { readonly host?: string | undefined; readonly origin?: string | undefined },
  allowedHosts: readonly string[],
): string | undefined {
  // An absolute target would overrule the Host header (RFC 9112 §3.2.2), and only proxies have a use for one.
  if (!url?.startsWith('/')) return 'The request target must be a path.'
  if (!isAllowedHost(host, socket.localPort, allowedHosts))
    return `This server does not answer to the host "${shorten(host)}". Use localhost, or name the host in "allowedHosts" of the configuration.`
  if (origin !== undefined && !isSameHost(origin, host))
    return `Pages from "${shorten(origin)}" may not use this server.`
  return undefined
}

/** Whether a `Host` is one of this machine's names for itself, on whatever port. */
export function isLoopbackName(host: string): boolean {
  return LOOPBACK.has(parseAuthority(host)?.name ?? '')
}

export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

const HEADERS_AS_PAIRS = Object.entries(SECURITY_HEADERS)

/**
 * Sets the security headers of every answer; an answer that sets one itself keeps it. They are set on the outgoing message,
 * because reading the headers of each answer costs more than a small call.
 */
export const securityHeaders: MiddlewareHandler<HttpEnv> = async (c, next) => {
  for (const [name, value] of HEADERS_AS_PAIRS) c.env.outgoing.setHeader(name, value)
  await next()
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

interface Authority {
  name: string
  port: number | undefined
}

/** Loopback names need the port we are bound to. An allowed host without a port stands for any, as proxies choose theirs. */
function isAllowedHost(host: string, boundPort: number | undefined, allowed: readonly string[]): boolean {
  if (isLoopbackAt(host, boundPort)) return true
  const asked = parseAuthority(host)
  if (!asked) return false
  if (LOOPBACK.has(asked.name) && (asked.port ?? 80) === boundPort) return true
  return allowed.some(entry => {
    const known = parseAuthority(entry)
    return known?.name === asked.name && (known.port === undefined || known.port === asked.port)
  })
}

/** The fast check for clients on this machine, which send most requests. */
function isLoopbackAt(host: string, port: number | undefined): boolean {
  const end = `:${port}`
  return port !== undefined && host.endsWith(end) && LOOPBACK.has(host.slice(0, -end.length))
}

function parseAuthority(text: string): Authority | undefined {
  const bracketed = /^[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(text) ? `[${text}]` : text
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/i.exec(bracketed)
  if (!match?.[1]) return undefined
  return { name: match[1].toLowerCase(), port: match[2] === undefined ? undefined : Number(match[2]) }
}

function isSameHost(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false
  const page = new URL(origin)
  if (page.origin !== origin || !/^https?:$/.test(page.protocol)) return false
  const own = `${page.protocol}//${host}`
  return URL.canParse(own) && new URL(own).host === page.host
}

function shorten(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}

/** Refuses requests without the admin token. */
export function requireAdmin(isAdmin: (token: string) => boolean): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const token = bearerIn(c)
    if (token === undefined || !isAdmin(token)) throw notAdmin(token)
    await next()
  }
}

export function bearerIn(c: Context<HttpEnv>): string | undefined {
  return /^Bearer +([\w.~+/=-]+)$/i.exec(c.req.header('authorization') ?? '')?.[1]
}

export function notAdmin(token: string | undefined): AppError {
  const hint = 'Send "Authorization: Bearer …" with the admin token of the data folder.'
  const message = `This needs the admin token, and ${token ? 'this is another' : 'none was sent'}. ${hint}`
  return new AppError('TOKEN_INVALID', message)
}

/** Calls `leave` when the answer was sent, or at once where the client is gone, because `close` was emitted already. */
export function leaveWhenClosed({ env: { outgoing } }: Context<HttpEnv>, leave: () => void): void {
  outgoing.once('close', leave)
  if (outgoing.destroyed) leave()
}

/** Limits the requests under way for each key, each until its answer has been sent. */
export function limitInFlight(
  most: number,
  keyOf: (c: Context<HttpEnv>) => string = () => 'admin',
): MiddlewareHandler<HttpEnv> {
  const inFlight = createInFlight({ most, what: 'requests under way' })
  return async (c, next) => {
    leaveWhenClosed(c, inFlight.enter(keyOf(c)))
    await next()
  }
}
