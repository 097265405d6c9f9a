import { createRequire } from 'node:module'
import type { LookupFunction } from 'node:net'
import { type Clock, isLoopback } from '../../core/kernel/index.ts'
import {
  createHeldBody,
  decoded,
  type HeldBody,
  type HttpAnswer,
  HttpFailure,
  type HttpHeaders,
  type HttpRequest,
  OwnReason,
  reasonOf,
} from './http-answer.ts'

/** Sends requests; rejects with an `HttpFailure`. */
export interface HttpClient {
  send(request: HttpRequest): Promise<HttpAnswer>
  /** Closes all its connections. */
  close(): void
}

export interface HttpClientOptions {
  readonly clock: Clock
  /** The time limit for a connection, TLS included. */
  readonly connectMs?: number | undefined
  /** Node's own lookup when absent. */
  readonly lookup?: LookupFunction | undefined
  /** Whether to use the proxy that the environment configures for Node. */
  readonly useProxy?: boolean | undefined
  /** The server ended a connection, idle or not. */
  onBroken?(): void
}

/** Two round trips across the world and a lost packet. */
const CONNECT_MS = 10_000

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { clock, connectMs = CONNECT_MS, lookup, useProxy, onBroken } = options
  let dispatcher: Dispatcher | undefined
  return {
    send: request =>
      new Promise((resolve, reject) => {
        if (request.signal.aborted) return reject(failureOf(new OwnReason(CANCELLED), request.url, 'no'))
        dispatcher ??= openDispatcher({ connectMs, lookup, useProxy, onBroken })
        const { url, method, headers, body } = request
        const exchange = createExchange(request, { clock, resolve, reject })
        dispatcher.dispatch({ origin: url.origin, path: url.pathname + url.search, method, headers, body }, exchange)
        exchange.waitForConnection(connectMs)
      }),
    close() {
      // Requests under way fail on their own.
      dispatcher?.destroy().catch(() => {})
    },
  }
}

const CANCELLED = 'it was cancelled'

/** Handles the events of one request. */
function createExchange(
  { url, signal, answerMs, onOut }: HttpRequest,
  deps: { readonly clock: Clock; resolve(answer: HttpAnswer): void; reject(error: HttpFailure): void },
): DispatchHandler & { waitForConnection(ms: number): void } {
  const { clock, resolve, reject } = deps
  let controller: Controller | undefined
  let body: HeldBody | undefined
  let isOver = false
  let cancel: (() => void) | undefined

  function leave(): void {
    isOver = true
    cancel?.()
    signal.removeEventListener('abort', cancelRequest)
  }

  function fail(cause: Error): void {
    if (isOver) return
    leave()
    if (body) body.fail(cause)
    // The request is written at once when there is a connection.
    else reject(failureOf(cause, url, controller ? 'maybe' : 'no'))
  }

  function end(reason: string): void {
    const cause = new OwnReason(reason)
    fail(cause)
    controller?.abort(cause)
  }

  const cancelRequest = () => end(CANCELLED)
  signal.addEventListener('abort', cancelRequest)

  return {
    waitForConnection(ms) {
      if (controller || isOver) return
      cancel = clock.after(ms, () => end(`no connection within ${ms} ms`))
    },
    onRequestStart(started) {
      cancel?.()
      // The caller has cancelled, and nothing was sent.
      if (isOver) return started.abort(new OwnReason(CANCELLED))
      controller = started
      onOut?.()
      if (answerMs !== undefined) cancel = clock.after(answerMs, () => end(`no answer within ${answerMs} ms`))
    },
    onResponseStart(started, status, headers) {
      // Informational responses precede the answer (RFC 9110 §15.2).
      if (status < 200) return
      cancel?.()
      body = createHeldBody(started, cancelRequest)
      resolve({ status, headers, body: decoded(body, headers['content-encoding']) })
    },
    onResponseData: (_, chunk) => body?.take(chunk),
    onResponseEnd() {
      leave()
      body?.finish()
    },
    onResponseError: (_, cause) => fail(cause),
  }
}

function failureOf(cause: Error, { host }: URL, wasSent: 'no' | 'maybe'): HttpFailure {
  const { reason, said } = reasonOf(cause)
  return new HttpFailure(`${host} cannot be reached: ${reason}.`, { wasSent, said, cause })
}

/** The part of undici that we use. */
interface Dispatcher {
  dispatch(request: DispatchRequest, handler: DispatchHandler): boolean
  destroy(): Promise<void>
  /** Not emitted with a proxy. */
  on(event: 'disconnect', listener: (origin: unknown, targets: unknown, cause: Error & { code?: string }) => void): void
}

interface DispatchRequest {
  readonly origin: string
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

interface Controller {
  abort(reason: Error): void
  pause(): void
  resume(): void
}

interface DispatchHandler {
  /** There is a connection, and the request is about to be written. */
  onRequestStart(controller: Controller): void
  onResponseStart(controller: Controller, status: number, headers: HttpHeaders): void
  onResponseData(controller: Controller, chunk: Buffer): void
  onResponseEnd(controller: Controller): void
  onResponseError(controller: Controller | undefined, cause: Error): void
}

/**
 * Below the five seconds after which many servers close an idle connection: a request sent at that moment would fail without an
 * answer, and it would be unknown whether it was executed.
 */
const IDLE_MS = 4_000

type ConnectionOptions = Omit<HttpClientOptions, 'clock' | 'connectMs' | 'onBroken'> & {
  readonly connectMs: number
  readonly onBroken: HttpClientOptions['onBroken']
}

/** Loads undici, which most projects never need. */
function openDispatcher({ connectMs, lookup, useProxy = false, onBroken }: ConnectionOptions): Dispatcher {
  const options = {
    connect: { timeout: connectMs, ...(lookup ? { lookup } : {}) },
    keepAliveTimeout: IDLE_MS,
    // A server can only shorten it.
    keepAliveMaxTimeout: IDLE_MS,
    // Calls may take long and streams may be silent; callers have limits of their own.
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  const Chosen = useProxy && process.env.NODE_USE_ENV_PROXY === '1' ? loadProxyAgent() : loadAgent()
  const dispatcher = new Chosen(options)
  if (onBroken) dispatcher.on('disconnect', (_origin, _targets, { code = '' }) => BROKEN.has(code) && onBroken())
  return dispatcher
}

/** Codes of connections that the server ended. */
const BROKEN: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

type DispatcherClass = new (options: object) => Dispatcher

const load = createRequire(import.meta.url)

/** Loads one file, because the whole package takes three times as long. */
function loadAgent(): DispatcherClass {
  return load('undici/lib/dispatcher/agent.js') as DispatcherClass
}

/** The proxy agent works only with the whole package. */
function loadProxyAgent(): DispatcherClass {
  return (load('undici') as { EnvHttpProxyAgent: DispatcherClass }).EnvHttpProxyAgent
}

/** Throws for an address to which credentials must not be sent, and no browser redirected. */
export function refuseUnsafe(url: URL, { home, isNamed }: { home: URL; isNamed(url: URL): boolean }): void {
  if (url.protocol === 'https:') return
  // The origin of the server itself is as safe as the server.
  const isKnown = url.origin === home.origin || (isNamed(url) && isLoopback(url.hostname))
  if (url.protocol === 'http:' && isKnown) return
  throw new TypeError(
    `"${url.origin === 'null' ? url.protocol : url.origin}" is not reached by https:, so nothing is sent there.`,
  )
}

/** Whether the configuration names a host. One name of this machine stands for all of them. */
export function namedHosts(home: URL, hosts: readonly string[]): (url: URL) => boolean {
  const named = new Set([home.hostname, ...hosts.map(host => host.toLowerCase())])
  if (isLoopback(home.hostname)) for (const name of ['localhost', '127.0.0.1', '[::1]']) named.add(name)
  return ({ hostname }) => named.has(hostname)
}
