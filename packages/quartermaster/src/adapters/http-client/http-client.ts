import type { LookupFunction } from 'node:net'
import type { Clock } from '../../core/kernel/index.ts'
import { createHeldBody, type HeldBody } from './held-body.ts'
import { type HttpAnswer, HttpFailure, type HttpRequest } from './http-answer.ts'
import { decoded } from './http-decoding.ts'
import { OwnReason, reasonOf } from './http-reason.ts'
import { type Controller, type Dispatcher, type DispatchHandler, openDispatcher } from './undici-parts.ts'

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

const GIVEN_UP = 'it was given up'

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
      // Nobody waits for it any more, and nothing of it is out.
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
