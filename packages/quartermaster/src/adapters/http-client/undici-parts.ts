import { createRequire } from 'node:module'
import type { LookupFunction } from 'node:net'
import type { HttpHeaders } from './http-answer.ts'

/** The little of undici that we use. */
export interface Dispatcher {
  dispatch(request: DispatchRequest, handler: DispatchHandler): boolean
  destroy(): Promise<void>
  /** One that goes by proxies keeps this to itself. */
  on(event: 'disconnect', listener: (origin: unknown, targets: unknown, cause: Error & { code?: string }) => void): void
}

export interface DispatchRequest {
  readonly origin: string
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

export interface Controller {
  abort(reason: Error): void
  pause(): void
  resume(): void
}

export interface DispatchHandler {
  /** There is a connection, and the request is written next. */
  onRequestStart(controller: Controller): void
  onResponseStart(controller: Controller, status: number, headers: HttpHeaders): void
  onResponseData(controller: Controller, chunk: Buffer): void
  onResponseEnd(controller: Controller): void
  onResponseError(controller: Controller | undefined, cause: Error): void
}

export interface DispatcherOptions {
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
export function openDispatcher({ connectMs, lookup, useProxy = false, onBroken }: DispatcherOptions): Dispatcher {
  const options = {
    connect: { timeout: connectMs, ...(lookup ? { lookup } : {}) },
    keepAliveTimeout: IDLE_MS,
    // What a server says about it may make the time shorter, never longer.
    keepAliveMaxTimeout: IDLE_MS,
    // Calls may take as long as they like, and streams be silent; whoever asks has limits of their own.
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
