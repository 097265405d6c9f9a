import {
  Agent,
  type AgentOptions,
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
  /** A text, or pieces that are sent as they come. Their failure is the cause of `Dropped`. */
  readonly body?: string | AsyncIterable<Uint8Array>
  readonly signal?: AbortSignal | undefined
  /** The request is cancelled when nothing comes for this long. */
  readonly silenceMs?: number
}

/**
 * Sends requests to an `up`; the body of the answer is not read yet. Rejects with `Dropped`. Redirects are not followed. `fetch`
 * would cost every command a quarter of a second, the time that Node takes to load it.
 */
export interface HttpExchange {
  send(request: ExchangeRequest): Promise<IncomingMessage>
  /** Closes idle connections. */
  close(): void
}

/** The connection ended without an answer. */
export class Dropped extends Error {
  /** Whether the whole request was sent: only then can it have been executed. */
  readonly wasSent: boolean

  constructor(cause: unknown, { wasSent }: { wasSent: boolean }) {
    super('The connection ended without an answer.', { cause })
    this.wasSent = wasSent
  }
}

/** Shorter than the server keeps idle connections, so that no request is sent into a connection that is being closed. */
const IDLE_MS = 2_000

/** For many requests to one server: connections are used again. */
export function createHttpExchange({ isSecure = false }: { isSecure?: boolean | undefined } = {}): HttpExchange {
  const options = { keepAlive: true, timeout: IDLE_MS }
  if (isSecure) return createSecureExchange(options)
  const agent = new Agent(options)
  return {
    send: request => exchanged(requestPlain, request, agent),
    close: () => agent.destroy(),
  }
}

/** TLS is loaded only for another machine. */
function createSecureExchange(options: AgentOptions): HttpExchange {
  const opened = import('node:https').then(({ Agent: SecureAgent, request }) => ({
    agent: new SecureAgent(options),
    request,
  }))
  return {
    async send(request) {
      const { agent, request: open } = await opened
      return exchanged(open, request, agent)
    },
    close: () => void opened.then(({ agent }) => agent.destroy()),
  }
}

/** Sends one request over a connection of its own. */
export async function sendAlone(request: ExchangeRequest): Promise<IncomingMessage> {
  // Loaded only for another machine, which is rare.
  const isSecure = new URL(request.url).protocol === 'https:'
  return exchanged(isSecure ? (await import('node:https')).request : requestPlain, request, false)
}

function exchanged(
  open: typeof requestPlain,
  { url, body, method, headers = {}, signal, silenceMs }: ExchangeRequest,
  agent: Agent | false,
): Promise<IncomingMessage> {
  // As an option it also applies before there is a connection.
  const timeout = silenceMs === undefined ? {} : { timeout: silenceMs }
  const options: RequestOptions = { method, headers, agent, ...(signal ? { signal } : {}), ...timeout }
  return new Promise((resolve, reject) => {
    const request = open(url, options)
    const isSent = trackSending(request, { isSecure: open !== requestPlain })
    request.once('response', resolve)
    request.on('error', error => reject(new Dropped(error, { wasSent: isSent() && !isRefusal(error) })))
    if (silenceMs !== undefined)
      request.once('timeout', () => request.destroy(new Error(`Nothing came for ${silenceMs} ms.`)))
    if (typeof body !== 'object') return void request.end(body)
    pipeline(body, request).catch((error: unknown) => {
      // A request that ends before it has a connection emits no error.
      request.destroy()
      reject(new Dropped(error, { wasSent: false }))
    })
  })
}

/** Answers whether the whole request was sent. Before the TLS handshake ends, written data has not been sent. */
function trackSending(request: ClientRequest, { isSecure }: { isSecure: boolean }): () => boolean {
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
