import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CancelSignal, Tracer } from '../../core/kernel/index.ts'
import { type PlainAnswer, writeAnswer } from './answers.ts'
import { createErrorReporter, problemResponse } from './errors.ts'
import { refusalReason } from './guard.ts'
import type { Mount, ShortMount, WholeRequest } from './http-app.ts'
import { type ObserveOptions, observe } from './metrics.ts'
import { defer, disconnectSignal } from './request.ts'

/** Answers requests that need no router, and passes all others to the application with `next`. */
export type FastPath = (incoming: IncomingMessage, outgoing: ServerResponse, next: () => void) => void

interface FastPathOptions extends ObserveOptions {
  readonly mounts?: readonly Mount[]
  allowedHosts(): readonly string[]
  readonly tracer?: Tracer | undefined
}

/** Larger bodies are rare, and what is read before the sender is identified must be small. */
const MOST_SHORT_BYTES = 64 * 1024

export function createFastPath(options: FastPathOptions): FastPath {
  const mounts = new Map(options.mounts?.map(({ path, short }) => [path as string, short]))
  const report = createErrorReporter(options)

  function mountFor(incoming: IncomingMessage): ShortMount | undefined {
    const mount = incoming.method === 'POST' ? mounts.get(incoming.url ?? '') : undefined
    if (!mount || !isShort(incoming) || !mount.isFor(incoming.headers)) return undefined
    return refusalReason(incoming, incoming.headers, options.allowedHosts()) === undefined ? mount : undefined
  }

  function respond(answer: Response | PlainAnswer, { incoming, outgoing, start }: Exchange): void {
    writeAnswer(answer, outgoing)
    const { url: path = '', method = '', headers } = incoming
    const request = { route: path, method, status: outgoing.statusCode, durationMs: performance.now() - start }
    observe(options, request, { path, traceparent: headers.traceparent })
  }

  return (incoming, outgoing, next) => {
    // A tracer wants every step of a request on record.
    const mount = options.tracer ? undefined : mountFor(incoming)
    if (!mount) return next()
    const exchange = { incoming, outgoing, start: performance.now() }
    readWhole(incoming, body => {
      const answer = answerFrom(mount, { headers: incoming.headers, body }, disconnectSignal(outgoing))
      if (answer)
        return void answer.then(
          served => respond(served, exchange),
          error => respond(problemResponse(report(error)), exchange),
        )
      // The adapter in front of the application reads the body from here.
      Object.assign(incoming, { rawBody: body })
      next()
    })
  }
}

function answerFrom(mount: ShortMount, request: WholeRequest, gone: CancelSignal): ReturnType<ShortMount['answer']> {
  try {
    return mount.answer(request, gone)
  } catch (error) {
    // Thrown on, it would end the process.
    return Promise.reject(error)
  }
}

interface Exchange {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly start: number
}

/** Node shows only one of two equal headers; the application gets both. */
function isShort({ headers, rawHeaders }: IncomingMessage): boolean {
  return Number(headers['content-length']) <= MOST_SHORT_BYTES && Object.keys(headers).length === rawHeaders.length / 2
}

/** Most bodies come with the head, and need not be read as a stream. */
function readWhole(incoming: IncomingMessage, whole: (body: Buffer) => void): void {
  defer(() => {
    if (incoming.complete) whole(incoming.read() ?? NO_BYTES)
    else gatherBody(incoming, whole)
  })
}

const NO_BYTES = Buffer.alloc(0)

/** A request that is cut off needs no answer. */
function gatherBody(incoming: IncomingMessage, whole: (body: Buffer) => void): void {
  const chunks: Buffer[] = []
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
  incoming.once('end', () => whole(Buffer.concat(chunks)))
}
