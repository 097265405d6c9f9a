import { createRequire } from 'node:module'
import type { LookupFunction } from 'node:net'
import type { Clock } from '../../core/kernel/index.ts'
import { isLoopback } from './address-guard.ts'
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

/** Sends requests. Rejects with an `HttpFailure`. */
export interface HttpClient {
  send(request: HttpRequest): Promise<HttpAnswer>
  /** Closes all its connections. */
  close(): void
}

export interface HttpClientOptions {
  readonly clock: Clock
  /** How long a connection may take to be there, TLS included. */
  readonly connectMs?: number | undefined
  /** How names become addresses; as Node does it when absent. */
  readonly lookup?: LookupFunction | undefined
  /** Whether the proxy is used that Node is told to use. */
  readonly useProxy?: boolean | undefined
  /** The other side ended a connection, with a request under way or without. */
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
        if (request.signal.aborted) return reject(failureOf(new OwnReason(GIVEN_UP), request.url, 'no'))
        dispatcher ??= openDispatcher({ connectMs, lookup, useProxy, onBroken })
        const { url, method, headers, body } = request
        const exchange = createExchange(request, { clock, resolve, reject })
        dispatcher.dispatch({ origin: url.origin, path: url.pathname + url.search, method, headers, body }, exchange)
        exchange.waitForConnection(connectMs)
      }),
    close() {
      // What is still under way is told by its own request.
      dispatcher?.destroy().catch(() => {})
    },
  }
}

interface ExchangeDeps {
  readonly clock: Clock
  resolve(answer: HttpAnswer): void
  reject(error: HttpFailure): void
}

interface Exchange extends DispatchHandler {
  /** From now on a connection may take so long, unless there was one. */
  waitForConnection(ms: number): void
}

const GIVEN_UP = 'it was cancelled'

/** One request: how far it gets, and what ends it. */
function createExchange({ url, signal, answerMs, onOut }: HttpRequest, deps: ExchangeDeps): Exchange {
  const { clock, resolve, reject } = deps
  let controller: Controller | undefined
  let body: HeldBody | undefined
  let isOver = false
  let cancel: (() => void) | undefined

  function leave(): void {
    isOver = true
    cancel?.()
    signal.removeEventListener('abort', giveUp)
  }

  function fail(cause: Error): void {
    if (isOver) return
    leave()
    if (body) body.fail(cause)
    // With a connection comes the request: it is written in one go.
    else reject(failureOf(cause, url, controller ? 'maybe' : 'no'))
  }

  function end(reason: string): void {
    const cause = new OwnReason(reason)
    fail(cause)
    controller?.abort(cause)
  }

  const giveUp = () => end(GIVEN_UP)
  signal.addEventListener('abort', giveUp)

  return {
    waitForConnection(ms) {
      if (controller || isOver) return
      cancel = clock.after(ms, () => end(`no connection within ${ms} ms`))
    },
    onRequestStart(started) {
      cancel?.()
      // No caller waits for it any more, and nothing of it was sent.
      if (isOver) return started.abort(new OwnReason(GIVEN_UP))
      controller = started
      onOut?.()
      if (answerMs !== undefined) cancel = clock.after(answerMs, () => end(`no answer within ${answerMs} ms`))
    },
    onResponseStart(started, status, headers) {
      // Hints, or that there is something to come (RFC 9110 §15.2). The answer comes after them.
      if (status < 200) return
      cancel?.()
      body = createHeldBody(started, giveUp)
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

/** The little of undici that we use. */
interface Dispatcher {
  dispatch(request: DispatchRequest, handler: DispatchHandler): boolean
  destroy(): Promise<void>
  /** One that goes by proxies keeps this to itself. */
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
  /** There is a connection, and the request is written next. */
  onRequestStart(controller: Controller): void
  onResponseStart(controller: Controller, status: number, headers: HttpHeaders): void
  onResponseData(controller: Controller, chunk: Buffer): void
  onResponseEnd(controller: Controller): void
  onResponseError(controller: Controller | undefined, cause: Error): void
}

interface DispatcherOptions {
  readonly connectMs: number
  readonly lookup?: LookupFunction | undefined
  readonly useProxy?: boolean | undefined
  onBroken?: (() => void) | undefined
}

/**
 * Under the five seconds after which many servers close an idle connection, so that no request meets that end on its way
 * and leaves in doubt whether it was carried out.
 */
const IDLE_MS = 4_000

/** Opens what requests are sent with. It is loaded here and not before: most projects never need it. */
function openDispatcher({ connectMs, lookup, useProxy = false, onBroken }: DispatcherOptions): Dispatcher {
  const options = {
    connect: { timeout: connectMs, ...(lookup ? { lookup } : {}) },
    keepAliveTimeout: IDLE_MS,
    // What a server says about it may make the time shorter, never longer.
    keepAliveMaxTimeout: IDLE_MS,
    // Calls may take as long as they like, and streams be silent; callers have limits of their own.
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  const Chosen = useProxy && process.env.NODE_USE_ENV_PROXY === '1' ? loadProxyAgent() : loadAgent()
  const dispatcher = new Chosen(options)
  if (onBroken) dispatcher.on('disconnect', (_origin, _targets, { code = '' }) => BROKEN.has(code) && onBroken())
  return dispatcher
}

/** Not when we end it ourselves. */
const BROKEN: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

type DispatcherClass = new (options: object) => Dispatcher

const load = createRequire(import.meta.url)

/** By its file: the package as a whole brings a fetch, sockets and caches, and takes three times as long to load. */
function loadAgent(): DispatcherClass {
  return load('undici/lib/dispatcher/agent.js') as DispatcherClass
}

/** This one works only when the whole is loaded. */
function loadProxyAgent(): DispatcherClass {
  return (load('undici') as { EnvHttpProxyAgent: DispatcherClass }).EnvHttpProxyAgent
}

/** Throws for an address that a person's credentials must not go to, nor a browser be sent to. */
export function refuseUnsafe(url: URL, { home, isNamed }: { home: URL; isNamed(url: URL): boolean }): void {
  if (url.protocol === 'https:') return
  // What is on the way to the server itself is as safe as the server.
  const isKnown = url.origin === home.origin || (isNamed(url) && isLoopback(url.hostname))
  if (url.protocol === 'http:' && isKnown) return
  throw new TypeError(
    `"${url.origin === 'null' ? url.protocol : url.origin}" is not reached by https:, so nothing is sent there.`,
  )
}

/** Whether the configuration names an address. A name of this machine means the machine. */
export function namedHosts(home: URL, hosts: readonly string[]): (url: URL) => boolean {
  const named = new Set([home.hostname, ...hosts.map(host => host.toLowerCase())])
  if (isLoopback(home.hostname)) for (const name of ['localhost', '127.0.0.1', '[::1]']) named.add(name)
  return ({ hostname }) => named.has(hostname)
}
