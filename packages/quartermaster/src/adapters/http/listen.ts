import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, type Socket, Server as TcpServer } from 'node:net'
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server'
import { AppError } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import { problemResponse } from './errors.ts'
import type { FastPath } from './fast-path.ts'
import { closeWaiting, type HttpApp, limitBodyRate, SERVER_LIMITS, type ServerLimits } from './request.ts'

export interface ListenOptions {
  app: Pick<HttpApp, 'fetch'>
  /** Tried before the application. */
  fastPath?: FastPath | undefined
  /** The interface to listen on; only this machine unless set. */
  host?: string
  /** 0 picks a free one. */
  port: number
  log: Log
  limits?: Partial<ServerLimits>
}

export interface Listener {
  /** Where a program on this machine reaches the server. */
  readonly url: string
  readonly port: number
  /** How many requests are not answered completely: waiting ones and open streams. */
  open(): number
  /**
   * Stops accepting, lets requests in flight finish within the grace time, then cuts them. Calling it again waits for
   * the same end; a shorter grace time brings it closer.
   */
  close(graceMs?: number): Promise<void>
}

/** Serves the application over HTTP. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { host = '127.0.0.1', port, log } = options
  const server = createLimitedServer(options, { ...SERVER_LIMITS, ...options.limits })
  await bind(server, host, port)
  // Without a listener, one connection that could not be accepted would end the process.
  server.on('error', error => log.warn('A connection could not be accepted.', { reason: error.message }))
  const bound = (server.address() as AddressInfo).port
  const requests = trackRequests(server)
  const close = createClose(server, requests)
  return { url: `http://${urlHost(host)}:${bound}`, port: bound, open: requests.open, close }
}

function createLimitedServer({ app, fastPath }: ListenOptions, limits: ServerLimits): Server {
  const serve = (request: Request, env: HttpBindings) => tooManyHeaders(env.incoming, limits) ?? app.fetch(request, env)
  const listener = getRequestListener((request, env) => serve(request, env as HttpBindings), {
    // The global Request and Response are shared by the whole process.
    overrideGlobalObjects: false,
    errorHandler: answerUnroutable,
  })
  const options = {
    headersTimeout: limits.headersTimeoutMs,
    // Bodies have a minimum rate instead.
    requestTimeout: 0,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    maxHeaderSize: limits.maxHeaderBytes,
    // Time limits are only enforced this often; Node's own 30 s would let a slow client stay three times as long.
    connectionsCheckingInterval: Math.min(1_000, limits.headersTimeoutMs),
    // TCP keep-alive notices a peer that vanished while an answer was running.
    keepAlive: true,
  }
  const server = createServer(options, (request, response) => {
    closeWaiting(request, response)
    limitBodyRate(request, response, limits)
    const next = () => void listener(request, response)
    if (fastPath && !hasTooManyHeaders(request, limits)) fastPath(request, response, next)
    else next()
  })
  limitConnections(server, limits)
  cutStalledReaders(server, limits)
  return server
}

/** At the limit, a new connection replaces the one that was idle longest, and is closed where none is idle. */
function limitConnections(server: Server, { maxConnections }: ServerLimits): void {
  /** Longest first, with the bytes read of each: when more have come since, a request is on its way. */
  const idle = new Map<Socket, number>()
  const answering = new Map<Socket, number>()
  let open = 0

  function endIdle(): boolean {
    const found = [...idle].find(([socket, read]) => socket.bytesRead === read)?.[0]
    if (!found) return false
    idle.delete(found)
    found.destroy()
    return true
  }

  server.on('connection', (socket: Socket) => {
    if (++open > maxConnections && !endIdle()) socket.destroy()
    else idle.set(socket, 0)
    socket.once('close', () => {
      open--
      idle.delete(socket)
      answering.delete(socket)
    })
  })
  server.prependListener('request', ({ socket }, response) => {
    idle.delete(socket)
    answering.set(socket, (answering.get(socket) ?? 0) + 1)
    response.once('close', () => {
      const left = (answering.get(socket) ?? 1) - 1
      answering.set(socket, left)
      if (left === 0 && !socket.destroyed) idle.set(socket, socket.bytesRead)
    })
  })
}

/** Node's own limit would silently drop headers, and half a request is not what the client meant. */
function tooManyHeaders(incoming: IncomingMessage, limits: ServerLimits): Response | undefined {
  if (!hasTooManyHeaders(incoming, limits)) return undefined
  const { maxHeaders } = limits
  const error = new AppError('LIMIT_EXCEEDED', `The request has more than ${maxHeaders} headers.`)
  return problemResponse(error, { status: 431, headers: { Connection: 'close' } })
}

function hasTooManyHeaders({ rawHeaders }: IncomingMessage, { maxHeaders }: ServerLimits): boolean {
  return rawHeaders.length / 2 > maxHeaders
}

/** Requests that never reach the application: a target or a Host header that is no URL, or a failure of its own errors. */
function answerUnroutable(error: unknown): Response {
  if (!(error instanceof RequestError)) return problemResponse(new AppError('INTERNAL', 'Something went wrong inside.'))
  return problemResponse(new AppError('REQUEST_REFUSED', 'The request target or the Host header is not valid.'), {
    status: 400,
  })
}

function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (error: Error) => reject(bindError(error, host, port))
    server.once('error', refuse)
    server.listen({ host, port }, () => {
      server.off('error', refuse)
      resolve()
    })
  })
}

function bindError(cause: NodeJS.ErrnoException, host: string, port: number): AppError {
  return new AppError('CONFIG_INVALID', `Cannot listen on ${host}, port ${port}: ${explain(cause)}`, {
    cause,
    details: { host, port },
  })
}

function explain(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return 'another program uses this port. Stop it, choose another with --port, or let --port 0 pick a free one.'
    case 'EACCES':
      return 'ports this low need special rights. Choose one above 1023 with --port.'
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return 'this machine has no such address. Use --host 127.0.0.1.'
    default:
      return `${error.code ?? error.message}. Check --host and --port.`
  }
}

/** Nothing can connect to "all interfaces", so the URL names this machine. IPv6 addresses need brackets (RFC 3986 §3.2.2). */
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::' || host === '') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

const GRACE_MS = 5_000
/** Time to answer one more request on each connection, with `Connection: close`. */
const SWEEP_MS = 20

function createClose(server: Server, requests: ReturnType<typeof trackRequests>): (graceMs?: number) => Promise<void> {
  const silent = createSilentConnections(server)
  let closed: Promise<void> | undefined
  return async (graceMs = GRACE_MS) => {
    // `http.Server` would close idle connections at once, and a request may be on its way over one.
    closed ??= new Promise(resolve => TcpServer.prototype.close.call(server, () => resolve()))
    requests.closeConnections()
    const cut = setTimeout(() => server.closeAllConnections(), graceMs)
    const sweep = setInterval(() => {
      server.closeIdleConnections()
      silent.end()
    }, SWEEP_MS)
    await closed
    clearTimeout(cut)
    clearInterval(sweep)
    // Ends Node's timer for connections; the server listens no longer.
    server.close()
  }
}

/**
 * Tracks the requests under way. When the server closes, every answer says that its connection ends; otherwise a client could
 * send its next request into a connection that is about to be closed, and would not know whether it was processed.
 */
function trackRequests(server: Server) {
  const open = new Set<ServerResponse>()
  let isClosing = false
  const closeAfter = (response: ServerResponse) => {
    response.shouldKeepAlive = false
  }
  server.prependListener('request', (_request, response) => {
    if (isClosing) closeAfter(response)
    open.add(response)
    response.once('close', () => open.delete(response))
  })
  return {
    open: () => open.size,
    closeConnections(): void {
      isClosing = true
      for (const response of open) closeAfter(response)
    },
  }
}

/**
 * Connections over which nothing has come. Browsers and other clients open them in advance. Node takes them for busy, so closing
 * would wait for them until the grace time ends.
 */
export function createSilentConnections(server: Server) {
  const all = new Set<Socket>()
  let before: ReadonlySet<Socket> = new Set()
  server.on('connection', (socket: Socket) => {
    all.add(socket)
    socket.once('close', () => all.delete(socket))
  })
  return {
    /** Ends the connections that were silent at the previous call and still are. */
    end(): void {
      const silent = [...all].filter(({ bytesRead }) => bytesRead === 0)
      // A connection that has just been accepted may have a request that was not read yet.
      for (const socket of silent) if (before.has(socket)) socket.destroy()
      before = new Set(silent)
    },
  }
}

/** The parts of a socket that are checked. */
export interface WatchedSocket extends Pick<Socket, 'bytesWritten' | 'writableLength'> {
  /**
   * Only this tells how many bytes the system has accepted. Without it a large answer would count as unread until its end, and a
   * slow reader would be disconnected.
   */
  readonly _handle?: { readonly bytesWritten?: number; readonly writeQueueSize?: number } | null
  once(event: 'close', listener: () => void): unknown
  destroy(): unknown
}

/** Checks per time limit, so a stalled reader is disconnected at most a twelfth of the limit late. */
const CHECKS = 12

function acceptedBytes({ bytesWritten, writableLength, _handle: handle }: WatchedSocket): number {
  const { bytesWritten: given, writeQueueSize: left } = handle ?? {}
  return given === undefined || left === undefined ? bytesWritten - writableLength : given - left
}

/**
 * Disconnects clients that do not read. Node's own timeout for sockets restarts with every byte in either direction, so it takes
 * twice as long or never ends. Checks are counted instead of time: a machine that slept gave no client the chance to read.
 */
export function cutStalledReaders(server: Server, { stalledReaderMs }: Pick<ServerLimits, 'stalledReaderMs'>): void {
  /** For each connection with unread data: the bytes accepted, and the number of checks since then. */
  const watched = new Map<WatchedSocket, { readonly accepted: number; readonly checks: number } | undefined>()
  server.on('connection', (socket: WatchedSocket) => {
    watched.set(socket, undefined)
    socket.once('close', () => watched.delete(socket))
  })
  const check = () => {
    for (const [socket, stall] of [...watched]) {
      const accepted = acceptedBytes(socket)
      const checks = stall?.accepted === accepted ? stall.checks + 1 : 0
      // A connection without waiting data may be idle.
      if (socket.writableLength === 0) watched.set(socket, undefined)
      else if (checks >= CHECKS) socket.destroy()
      else watched.set(socket, { accepted, checks })
    }
  }
  const timer = setInterval(check, Math.max(1, stalledReaderMs / CHECKS))
  // The timer alone does not keep the process running.
  timer.unref()
  server.once('close', () => clearInterval(timer))
}
