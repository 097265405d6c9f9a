import * as http from 'node:http'
import * as https from 'node:https'
import type { LookupFunction, Socket } from 'node:net'
import type { Readable } from 'node:stream'
import * as zlib from 'node:zlib'
import type { Clock } from '../../../core/kernel/index.ts'

export interface HttpRequest {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly signal: AbortSignal
  /** How long the first line of the answer may take once the request is out; for ever when absent. */
  readonly answerMs?: number | undefined
}

/** An answer whose body is not yet read, decompressed. Whoever gets it reads or destroys it. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: Readable
}

export function isGood({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300
}

/** A header that occurs once. */
export function headerOf({ headers }: HttpAnswer, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : undefined
}

/** Sends requests. Rejects with an `HttpFailure`. */
export interface HttpClient {
  send(request: HttpRequest): Promise<HttpAnswer>
  /** Closes the connections that wait for another use. */
  close(): void
}

/** There is no answer. A `TypeError`, as every failure of a fetch is. */
export class HttpFailure extends TypeError {
  /** `no`: the server cannot have seen the whole request. */
  readonly wasSent: 'no' | 'maybe'
  /** The machine is there and says that no server is. Other failures may be of this request alone. */
  readonly isNobodyThere: boolean
  constructor(message: string, { wasSent, cause }: { readonly wasSent: 'no' | 'maybe'; readonly cause: unknown }) {
    super(message, { cause })
    this.name = 'HttpFailure'
    this.wasSent = wasSent
    this.isNobodyThere = codeOf(cause) === 'ECONNREFUSED'
  }
}

export interface HttpClientOptions {
  readonly clock: Clock
  /** How long a connection may take to be there, TLS included. */
  readonly connectMs?: number | undefined
  /** How names become addresses; as Node does it when absent. */
  readonly lookup?: LookupFunction | undefined
  /** Whether the proxy is used that Node is told to use. */
  readonly useProxy?: boolean | undefined
}

/** Two round trips across the world and a lost packet. */
const CONNECT_MS = 10_000
/**
 * Under the five seconds after which many servers close an idle connection, so that no request meets that end on its way
 * and leaves in doubt whether it was carried out.
 */
const IDLE_MS = 4_000
/** A burst of calls leaves as many connections; with fewer kept, the next one pays for connecting again. */
const MOST_IDLE = 64

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { clock, connectMs = CONNECT_MS } = options
  const agents = { 'http:': new http.Agent(agentOptions(options)), 'https:': new https.Agent(agentOptions(options)) }

  function start({ url, method, headers }: HttpRequest): http.ClientRequest {
    if (url.protocol === 'https:') return https.request(url, { method, headers, agent: agents['https:'] })
    return http.request(url, { method, headers, agent: agents['http:'] })
  }

  return {
    send: request =>
      new Promise((resolve, reject) => {
        const sending = start(request)
        const watch = watchSending(sending, { clock, connectMs, answerMs: request.answerMs })
        sending.once('response', response => {
          watch.stop()
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: decoded(response) })
        })
        sending.on('error', cause => {
          watch.stop()
          reject(new HttpFailure(reasonOf(cause, request.url), { wasSent: watch.wasSent(), cause }))
        })
        endWith(request.signal, sending)
        sending.end(request.body)
      }),
    close() {
      agents['http:'].destroy()
      agents['https:'].destroy()
    },
  }
}

function agentOptions({ lookup, useProxy = false }: HttpClientOptions): http.AgentOptions {
  // Newer versions of Node take a proxy from the environment when told to; others know no such option and leave it alone.
  const proxy = useProxy && process.env.NODE_USE_ENV_PROXY === '1' ? { proxyEnv: process.env } : {}
  return { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: MOST_IDLE, ...(lookup ? { lookup } : {}), ...proxy }
}

/** By hand, because what Node does for its own option costs a tenth of a call. */
function endWith(signal: AbortSignal, sending: http.ClientRequest): void {
  const abort = () => void sending.destroy(new Error('it was given up'))
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  sending.once('close', () => signal.removeEventListener('abort', abort))
}

interface SendingWatch {
  wasSent(): 'no' | 'maybe'
  stop(): void
}

/** Watches how far a request gets, and ends it when a step takes too long. */
function watchSending(
  sending: http.ClientRequest,
  { clock, connectMs, answerMs }: { clock: Clock; connectMs: number; answerMs: number | undefined },
): SendingWatch {
  let isConnected = false
  let isWritten = false
  let cancel = () => {}
  const within = (ms: number, step: string) => {
    cancel()
    cancel = clock.after(ms, () => sending.destroy(new Error(`${step} within ${ms} ms`)))
  }
  const connected = () => {
    isConnected = true
    if (answerMs === undefined) cancel()
    else within(answerMs, 'no answer')
  }
  sending.once('finish', () => {
    isWritten = true
  })
  sending.once('socket', (socket: Socket) => {
    if (!socket.connecting) return connected()
    within(connectMs, 'no connection')
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', connected)
  })
  return { wasSent: () => (isConnected && isWritten ? 'maybe' : 'no'), stop: () => cancel() }
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection broke',
  EPIPE: 'the connection broke',
  ENOTFOUND: 'there is no such name',
  EAI_AGAIN: 'its name could not be looked up',
  ETIMEDOUT: 'no connection in time',
  EHOSTUNREACH: 'there is no way to it',
  ENETUNREACH: 'there is no way to it',
}

function reasonOf(cause: unknown, { host }: URL): string {
  const code = codeOf(cause)
  const message = cause instanceof Error ? cause.message : ''
  return `${host} cannot be reached: ${WORDS[code] ?? (message || code || 'the connection failed')}.`
}

function codeOf(cause: unknown): string {
  return cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? '') : ''
}

/** Nobody is asked for compression; some servers compress all the same. */
function decoded(response: http.IncomingMessage): Readable {
  const decoder = DECODERS[response.headers['content-encoding']?.toLowerCase() ?? '']?.()
  if (!decoder) return response
  response.on('error', error => decoder.destroy(error))
  response.on('aborted', () => decoder.destroy(new Error('the connection broke')))
  decoder.on('close', () => response.destroy())
  return response.pipe(decoder)
}

const DECODERS: Readonly<Record<string, () => zlib.Gunzip | zlib.BrotliDecompress>> = {
  gzip: () => zlib.createGunzip({ flush: zlib.constants.Z_SYNC_FLUSH }),
  'x-gzip': () => zlib.createGunzip({ flush: zlib.constants.Z_SYNC_FLUSH }),
  deflate: () => zlib.createInflate({ flush: zlib.constants.Z_SYNC_FLUSH }),
  br: () => zlib.createBrotliDecompress({ flush: zlib.constants.BROTLI_OPERATION_FLUSH }),
}
