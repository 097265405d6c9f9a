import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Context } from 'hono'
import { AppError } from '../../contracts/index.ts'
import { parseBoundedJson, textOfBody } from '../../core/kernel/index.ts'
import { defer, type HttpEnv } from './context.ts'
import type { HttpLimits, ServerLimits } from './guard.ts'

/** The JSON body of a request, read within the limits. */
export async function readJsonBody(c: Context<HttpEnv>, limits: HttpLimits): Promise<unknown> {
  return parseBoundedJson(textOfBody(await readBytes(c, limits.maxBodyBytes)), limits)
}

/** Whether the body says that it is JSON. A form can be posted from any web page without asking; JSON cannot. */
export function isJson(contentType: string | undefined): boolean {
  return /^application\/json\s*(;|$)/i.test(contentType ?? '')
}

async function readBytes({ req, env: { incoming } }: Context<HttpEnv>, limit: number): Promise<Uint8Array> {
  if (Number(req.header('content-length') ?? 0) > limit) throw tooLarge(limit)
  // What is left of one that has gone already is with the adapter in front of the application.
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

/** From Node's own request: to make a `Request` and a stream of the web for a small body costs more than what is done with it. */
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
      // The rest is left where it is, as that of every request that is refused before it is read.
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
 * Cuts a client that is too slow with the body of its request. It is timed by what comes and not as a whole, so that a large file
 * may take its time, and a client that says a byte now and then may not.
 */
export function keepPace(request: IncomingMessage, response: CutAnswer, limits: PaceLimits): void {
  if (!hasBody(request)) return
  // Most bodies come with the head, and nothing is left to be timed.
  defer(() => {
    if (!request.complete && !request.destroyed) watchPace(request, response, limits)
  })
}

type CutAnswer = Pick<ServerResponse, 'headersSent' | 'writableEnded'>
type PaceLimits = Pick<ServerLimits, 'requestTimeoutMs' | 'bodyBytesPerSecond'>

function watchPace(request: IncomingMessage, response: CutAnswer, limits: PaceLimits): void {
  const { requestTimeoutMs, bodyBytesPerSecond } = limits
  const { socket } = request
  const least = (bodyBytesPerSecond * requestTimeoutMs) / 1_000
  let seen = socket.bytesRead
  const timer = setInterval(() => {
    if (request.complete) return clearInterval(timer)
    const came = socket.bytesRead - seen
    seen = socket.bytesRead
    // What comes behind its answer is of no use.
    if (came < least || response.writableEnded) cut(socket, response)
  }, requestTimeoutMs)
  // Whatever else is open keeps the process; this alone does not.
  timer.unref()
  request.once('close', () => clearInterval(timer))
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** As Node does with what takes too long to come. There can be no other answer once one has begun. */
function cut(socket: Socket, { headersSent }: Pick<ServerResponse, 'headersSent'>): void {
  if (socket.writable && !headersSent) socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n')
  socket.destroy()
}
