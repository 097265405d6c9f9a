import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { HttpBindings } from '@hono/node-server'
import type { Context, Hono } from 'hono'
import { AppError } from '../../contracts/index.ts'
import { type CancelSignal, createCancellation, parseBoundedJson, textOfBody } from '../../core/kernel/index.ts'

/** The JSON body of a request, read within the limits. */
export async function readJsonBody(c: Context<HttpEnv>, limits: HttpLimits): Promise<unknown> {
  return parseBoundedJson(textOfBody(await readBytes(c, limits.maxBodyBytes)), limits)
}

/** Whether the content type is JSON. Any web page can post a form without asking; JSON it cannot. */
export function isJson(contentType: string | undefined): boolean {
  return /^application\/json\s*(;|$)/i.test(contentType ?? '')
}

async function readBytes({ req, env: { incoming } }: Context<HttpEnv>, limit: number): Promise<Uint8Array> {
  if (Number(req.header('content-length') ?? 0) > limit) throw tooLarge(limit)
  // The body may have been read already, by the adapter in front of the application.
  if (incoming.destroyed || incoming.readableEnded) return bytesOf(received(req.raw), limit)
  return readIncoming(incoming, limit)
}

async function bytesOf(pieces: AsyncIterable<Uint8Array>, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of pieces) {
    size += chunk.byteLength
    if (size > limit) throw tooLarge(limit)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Reads Node's own request: a web `Request` with a stream costs more than handling a small body. */
function readIncoming(incoming: IncomingMessage, limit: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const end = (settle: () => void) => {
      incoming.off('data', take).off('end', finish).off('error', breakOff).off('close', breakOff).pause()
      settle()
    }
    const take = (chunk: Buffer) => {
      size += chunk.byteLength
      chunks.push(chunk)
      // The rest is not read.
      if (size > limit) end(() => reject(tooLarge(limit)))
    }
    const finish = () => end(() => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
    const breakOff = (cause?: unknown) => end(() => reject(brokenOff(cause)))
    incoming.on('data', take).once('end', finish).once('error', breakOff).once('close', breakOff)
  })
}

/** The pieces of a body as they come. Throws `CANCELLED` when the connection ends before all of it has. */
export async function* received(request: Request): AsyncGenerator<Uint8Array> {
  try {
    yield* request.body ?? []
  } catch (cause) {
    throw brokenOff(cause)
  }
}

function brokenOff(cause: unknown): AppError {
  return new AppError('CANCELLED', 'The connection ended before the request was complete.', { cause })
}

function tooLarge(limit: number): AppError {
  return new AppError('LIMIT_EXCEEDED', `The request body is larger than ${limit} bytes.`, { details: { limit } })
}

/**
 * Disconnects a client that sends the body of its request too slowly. The rate is limited and not the time, so that a large file
 * may take long, and a client that sends a byte now and then may not.
 */
export function limitBodyRate(request: IncomingMessage, response: CutAnswer, limits: RateLimits): void {
  if (!hasBody(request)) return
  // Most bodies come with the head, and need no timer.
  defer(() => {
    if (!request.complete && !request.destroyed) watchRate(request, response, limits)
  })
}

type CutAnswer = Pick<ServerResponse, 'headersSent' | 'writableEnded'>
type RateLimits = Pick<ServerLimits, 'requestTimeoutMs' | 'bodyBytesPerSecond'>

function watchRate(request: IncomingMessage, response: CutAnswer, limits: RateLimits): void {
  const { requestTimeoutMs, bodyBytesPerSecond } = limits
  const { socket } = request
  const least = (bodyBytesPerSecond * requestTimeoutMs) / 1_000
  let seen = socket.bytesRead
  const timer = setInterval(() => {
    if (request.complete) return clearInterval(timer)
    const came = socket.bytesRead - seen
    seen = socket.bytesRead
    // A body that goes on after the answer is of no use.
    if (came < least || response.writableEnded) cut(socket, response)
  }, requestTimeoutMs)
  // The timer alone does not keep the process running.
  timer.unref()
  request.once('close', () => clearInterval(timer))
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Answers as Node's own timeout does, unless another answer has begun. */
function cut(socket: Socket, { headersSent }: Pick<ServerResponse, 'headersSent'>): void {
  if (socket.writable && !headersSent) socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n')
  socket.destroy()
}

/** What a request to the application may cost. */
export interface HttpLimits {
  /** The largest request body. Control inputs are small; a call's arguments rarely pass a few kilobytes. */
  readonly maxBodyBytes: number
  /** How deep JSON may nest; real inputs stay under ten, and recursive code behind us must not run out of stack. */
  readonly maxJsonDepth: number
  /** How many values JSON may have: each costs many times its bytes once it is parsed. */
  readonly maxJsonValues: number
  /** Requests to the control API under way at once; a person and their scripts need a few. */
  readonly maxInFlight: number
  /** The interval of heartbeats in a streamed answer; clients time out after minutes of silence. */
  readonly heartbeatMs: number
  /** The same for Server-Sent Events, which proxies close after half a minute or more of silence. */
  readonly pingMs: number
}

export const HTTP_LIMITS: HttpLimits = {
  maxBodyBytes: 1024 * 1024,
  maxJsonDepth: 64,
  maxJsonValues: 100_000,
  maxInFlight: 256,
  heartbeatMs: 10_000,
  pingMs: 15_000,
}

/** What a connection to the server may cost. */
export interface ServerLimits {
  /** Time to send the headers, also for a connection that sends nothing at all. */
  readonly headersTimeoutMs: number
  /** In each period of this length, the body of a request must arrive at the rate below. Answers have no limit. */
  readonly requestTimeoutMs: number
  /** Low enough for a large file on a slow line, high enough that holding a connection open costs the client something. */
  readonly bodyBytesPerSecond: number
  /** How long an idle connection is kept: longer than the 60 s after which clients and proxies close theirs. */
  readonly keepAliveTimeoutMs: number
  /** How long a client may read nothing while data waits for it in memory. */
  readonly stalledReaderMs: number
  readonly maxHeaderBytes: number
  /** Browsers send about twenty. */
  readonly maxHeaders: number
  /** At the limit a new connection replaces the one that was idle longest, so that a flood does not use up file descriptors. */
  readonly maxConnections: number
}

export const SERVER_LIMITS: ServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  bodyBytesPerSecond: 8 * 1024,
  keepAliveTimeoutMs: 65_000,
  stalledReaderMs: 60_000,
  maxHeaderBytes: 16 * 1024,
  maxHeaders: 100,
  maxConnections: 1_024,
}

/** Handlers get Node's own request and response. */
export interface HttpEnv {
  Bindings: HttpBindings
}

/** The application. Further routes may be added until the first request; the guards hold for them too. */
export type HttpApp = Hono<HttpEnv>

/**
 * Calls once everything that came with the head of a request is parsed. `nextTick` would be too early: Node marks the request
 * complete after it. Anything later than `setImmediate` would be too late: the close of the connection is reported next.
 */
export function defer(work: () => void): void {
  setImmediate(work)
}

/** Aborts when a client disconnects before its answer is complete. */
export function disconnectSignal(outgoing: ServerResponse): CancelSignal {
  const { signal, cancel } = createCancellation()
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) cancel(new Error('The client went away.'))
  })
  return signal
}

/** Closes a pipelined answer when its client disconnects: Node closes only the first in the queue. */
export function closeWaiting(incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (outgoing.socket) return
  const { socket } = incoming
  const close = () => {
    outgoing.destroy()
    // Without a socket nothing else emits `close`, and the writer of the answer waits for it.
    outgoing.emit('close')
  }
  // Any number of answers may be queued, so many listeners are no leak.
  socket.setMaxListeners(0)
  socket.once('close', close)
  outgoing.once('socket', () => socket.off('close', close))
}

/** The text behind `%XX`; `undefined` when it is not UTF-8. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
