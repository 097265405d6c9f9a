import {
  Agent,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
  request as requestPlain,
} from 'node:http'
import { pipeline } from 'node:stream/promises'

export interface ExchangeRequest {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly url: string | URL
  readonly headers?: Readonly<Record<string, string>>
  /** A text, or pieces that are sent as they come. What goes wrong with these is the cause of `Dropped`. */
  readonly body?: string | AsyncIterable<Uint8Array>
  readonly signal?: AbortSignal | undefined
  /** After so long without a sign it is given up. */
  readonly silenceMs?: number
}

/**
 * Sends requests to an `up` and answers with what comes back, its body not yet read. Rejects with `Dropped`. Redirects are not
 * followed. By `fetch` the same would cost every command a quarter of a second: so long does Node take to load it.
 */
export interface HttpExchange {
  send(request: ExchangeRequest): Promise<IncomingMessage>
  /** Closes the connections that wait for another use. */
  close(): void
}

/** The connection ended before there was an answer. */
export class Dropped extends Error {
  /** Whether the whole request had left: only then can it have been carried out. */
  readonly wasSent: boolean

  constructor(cause: unknown, { wasSent }: { wasSent: boolean }) {
    super('The connection ended without an answer.', { cause })
    this.wasSent = wasSent
  }
}

/**
 * Under the five seconds after which the server closes an idle connection, so that no request meets that end on its way
 * and leaves in doubt whether it was carried out.
 */
const IDLE_MS = 2_000

/** For many requests to one on this machine: they use each other's connections again. */
export function createHttpExchange(): HttpExchange {
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS })
  return {
    send: request => exchanged(requestPlain, request, agent),
    close: () => agent.destroy(),
  }
}

/** Sends one request, over a connection that is made for it and ends with it. */
export async function sendAlone(request: ExchangeRequest): Promise<IncomingMessage> {
  // Few clients ask another machine.
  const isSecure = new URL(request.url).protocol === 'https:'
  return exchanged(isSecure ? (await import('node:https')).request : requestPlain, request, false)
}

function exchanged(
  open: typeof requestPlain,
  { url, body, method, headers = {}, signal, silenceMs }: ExchangeRequest,
  agent: Agent | false,
): Promise<IncomingMessage> {
  // Given here it also counts while there is no connection yet.
  const timeout = silenceMs === undefined ? {} : { timeout: silenceMs }
  const options: RequestOptions = { method, headers, agent, ...(signal ? { signal } : {}), ...timeout }
  return new Promise((resolve, reject) => {
    const request = open(url, options)
    const left = departureOf(request, { isSecure: open !== requestPlain })
    request.once('response', resolve)
    request.on('error', error => reject(new Dropped(error, { wasSent: left() && !isRefusal(error) })))
    if (silenceMs !== undefined)
      request.once('timeout', () => request.destroy(new Error(`Nothing came for ${silenceMs} ms.`)))
    if (typeof body !== 'object') return void request.end(body)
    pipeline(body, request).catch((error: unknown) => {
      // A request that was cut before it had a connection says nothing of it.
      request.destroy()
      reject(new Dropped(error, { wasSent: false }))
    })
  })
}

/** Answers whether the whole request has left. Before a secure connection is agreed upon nothing has, though it was written. */
function departureOf(request: ClientRequest, { isSecure }: { isSecure: boolean }): () => boolean {
  let isWritten = false
  let isOpen = !isSecure
  request.once('finish', () => {
    isWritten = true
  })
  if (isSecure)
    request.once('socket', socket =>
      socket.once('secureConnect', () => {
        isOpen = true
      }),
    )
  return () => isWritten && isOpen
}

function isRefusal(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNREFUSED'
}
