import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, type Socket, Server as TcpServer } from 'node:net'
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server'
import { AppError } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import { closeWaiting, type HttpApp } from './context.ts'
import { problemResponse } from './errors.ts'
import type { FastPath } from './fast-path.ts'
import { SERVER_LIMITS, type ServerLimits } from './guard.ts'
import { keepPace } from './request.ts'

export interface ListenOptions {
  app: Pick<HttpApp, 'fetch'>
  /** Asked before the application. */
  shortWay?: FastPath | undefined
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
  /** Requests that are not answered, or not to their end: those that wait, and open streams. */
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
  const parting = createParting(server)
  const close = createClose(server, parting)
  return { url: `http://${urlHost(host)}:${bound}`, port: bound, open: parting.open, close }
}

function createLimitedServer({ app, shortWay }: ListenOptions, limits: ServerLimits): Server {
  const serve = (request: Request, env: HttpBindings) => tooManyHeaders(env.incoming, limits) ?? app.fetch(request, env)
  const listener = getRequestListener((request, env) => serve(request, env as HttpBindings), {
    // The global Request and Response belong to everyone in the process.
    overrideGlobalObjects: false,
    errorHandler: answerUnroutable,
  })
  const options = {
    headersTimeout: limits.headersTimeoutMs,
    // Bodies are timed by what comes of them.
    requestTimeout: 0,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    maxHeaderSize: limits.maxHeaderBytes,
    // Time limits are only enforced this often; Node's own 30 s would let a slow client stay three times as long.
    connectionsCheckingInterval: Math.min(1_000, limits.headersTimeoutMs),
    // TCP keep-alive notices a peer that vanished without a word while an answer was running.
    keepAlive: true,
  }
  const server = createServer(options, (request, response) => {
    closeWaiting(request, response)
    keepPace(request, response, limits)
    const goOn = () => void listener(request, response)
    if (shortWay && !hasTooManyHeaders(request, limits)) shortWay(request, response, goOn)
    else goOn()
  })
  limitConnections(server, limits)
  cutStalledReaders(server, limits)
  return server
}

/** At the limit, the connection that has been idle longest makes room for the next. Where none is idle, that is closed. */
function limitConnections(server: Server, { maxConnections }: ServerLimits): void {
  /** Longest first, with what had been read of each: when more has come since, a request is on its way. */
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

/** Node drops what is beyond its own count without a word, and half a request is not what the client meant. */
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

/** "All interfaces" is no place to connect to, so the URL names this machine. IPv6 addresses need brackets (RFC 3986 §3.2.2). */
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::' || host === '') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

const GRACE_MS = 5_000
/** Time to answer one more request on each connection, and to say that it was the last. */
const SWEEP_MS = 20

function createClose(server: Server, parting: Parting): (graceMs?: number) => Promise<void> {
  const silent = createSilentConnections(server)
  let closed: Promise<void> | undefined
  return async (graceMs = GRACE_MS) => {
    // Not the way of an HTTP server, which closes what is idle at once: some of it has just been sent a request.
    closed ??= new Promise(resolve => TcpServer.prototype.close.call(server, () => resolve()))
    parting.begin()
    const cut = setTimeout(() => server.closeAllConnections(), graceMs)
    const sweep = setInterval(() => {
      server.closeIdleConnections()
      silent.end()
    }, SWEEP_MS)
    await closed
    clearTimeout(cut)
    clearInterval(sweep)
    // It listens no more; what Node looks after connections with ends only so.
    server.close()
  }
}

interface Parting {
  begin(): void
  /** How many are being answered. */
  open(): number
}

/**
 * From its beginning on every answer says that the connection ends with it. A client that is not told so sends its next request
 * into a connection that is about to be closed, and cannot know what became of it.
 */
function createParting(server: Server): Parting {
  const open = new Set<ServerResponse>()
  let hasBegun = false
  const part = (response: ServerResponse) => {
    response.shouldKeepAlive = false
  }
  server.prependListener('request', (_request, response) => {
    if (hasBegun) part(response)
    open.add(response)
    response.once('close', () => open.delete(response))
  })
  return {
    open: () => open.size,
    begin() {
      hasBegun = true
      for (const response of open) part(response)
    },
  }
}

interface SilentConnections {
  /** Ends those that were silent at the call before and are so still. */
  end(): void
}

/**
 * Connections over which nothing has come. Browsers and agents' clients open them to have one ready; Node takes them for busy,
 * so that closing would wait for them to its very end.
 */
export function createSilentConnections(server: Server): SilentConnections {
  const all = new Set<Socket>()
  let before: ReadonlySet<Socket> = new Set()
  server.on('connection', (socket: Socket) => {
    all.add(socket)
    socket.once('close', () => all.delete(socket))
  })
  return {
    end() {
      const silent = [...all].filter(({ bytesRead }) => bytesRead === 0)
      // A connection that has just been accepted may carry a request that was not read yet.
      for (const socket of silent) if (before.has(socket)) socket.destroy()
      before = new Set(silent)
    },
  }
}

interface StalledReadersOptions {
  /** How long a client may leave what was sent to it unread. */
  readonly stalledReaderMs: number
}

/** Connections of whose answers something waits to be read. */
interface StalledReaders {
  watch(socket: WatchedSocket): void
  /** Cuts those that have read nothing for too long. */
  look(): void
}

/** As much of a socket as is looked at. */
export interface WatchedSocket extends Pick<Socket, 'bytesWritten' | 'writableLength'> {
  /**
   * Node tells only here how much of what it was given the system has taken. Without it a large answer would count as unread
   * until all of it is gone, and a reader that is merely slow would be cut.
   */
  readonly _handle?: { readonly bytesWritten?: number; readonly writeQueueSize?: number } | null
  once(event: 'close', listener: () => void): unknown
  destroy(): unknown
}

/** So often is looked in the time that a reader has: that much later than it should be one is cut at most. */
const LOOKS = 12

/** What the system had taken, and how often it was found to be no more since. */
interface Stall {
  readonly taken: number
  readonly looks: number
}

/**
 * Looks are counted, and not the time between them: a machine that slept, or a process that stood still, has given no client the
 * chance to read meanwhile.
 */
function createStalledReaders(): StalledReaders {
  const watched = new Map<WatchedSocket, Stall | undefined>()

  function lookAt(socket: WatchedSocket, stall: Stall | undefined): void {
    // A connection over which there is nothing to say may be silent for as long as it likes.
    if (socket.writableLength === 0) return void watched.set(socket, undefined)
    const taken = takenOf(socket)
    const looks = stall?.taken === taken ? stall.looks + 1 : 0
    if (looks >= LOOKS) socket.destroy()
    else watched.set(socket, { taken, looks })
  }

  return {
    watch(socket) {
      watched.set(socket, undefined)
      socket.once('close', () => watched.delete(socket))
    },
    look() {
      for (const [socket, stall] of [...watched]) lookAt(socket, stall)
    },
  }
}

function takenOf({ bytesWritten, writableLength, _handle: handle }: WatchedSocket): number {
  const { bytesWritten: given, writeQueueSize: left } = handle ?? {}
  return given === undefined || left === undefined ? bytesWritten - writableLength : given - left
}

/**
 * Cuts clients that do not read. Node's own time limit for sockets restarts when it finds that something was read since the last
 * one, and with every byte that comes in, so that it takes twice as long or never ends.
 */
export function cutStalledReaders(server: Server, { stalledReaderMs }: StalledReadersOptions): void {
  const readers = createStalledReaders()
  server.on('connection', readers.watch)
  const timer = setInterval(readers.look, Math.max(1, stalledReaderMs / LOOKS))
  // What is open keeps the process; this alone does not.
  timer.unref()
  server.once('close', () => clearInterval(timer))
}
