import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { afterArrival } from './arrival.ts'
import type { ServerLimits } from './limits.ts'

/**
 * Cuts a client that is too slow with the body of its request. It is timed by what comes and not as a whole, so that a large file
 * may take its time, and a client that says a byte now and then may not.
 */
export function keepPace(request: IncomingMessage, response: CutAnswer, limits: PaceLimits): void {
  if (!hasBody(request)) return
  // Most bodies come with the head, and nothing is left to be timed.
  afterArrival(() => {
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
    // What comes behind its answer is of no use to anybody.
    if (came < least || response.writableEnded) cut(socket, response)
  }, requestTimeoutMs)
  // Whatever else is open keeps the process; this alone does not.
  timer.unref()
  request.once('close', () => clearInterval(timer))
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** As Node does with what takes too long to come. Nobody can answer any more once an answer has begun. */
function cut(socket: Socket, { headersSent }: Pick<ServerResponse, 'headersSent'>): void {
  if (socket.writable && !headersSent) socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n')
  socket.destroy()
}
