import { INTERNAL_ERROR } from '@modelcontextprotocol/server'

/** A short answer, written out directly: a `Response` and its body stream cost more than the call. */
interface PlainAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export type Served = Response | PlainAnswer

/** An answer with a resource that is held until the answer has been sent. */
export interface HeldAnswer {
  readonly served: Served
  release(): void
}

/** The answer to one request: one JSON document, or an event stream when something is sent before the result. */
export interface AnswerStream {
  readonly served: Promise<Served>
  /** Sends a notification before the result. The first one turns the answer into a stream. */
  notify(method: string, params: Record<string, unknown>): void
  end(message: FinalMessage): void
  /** Continues with another response; notifications sent so far stay sent. */
  continueWith(response: Response): void
  /** Ends without a message: the client cancelled the request. */
  drop(): void
}

interface AnswerOptions {
  readonly headers?: AnswerHeaders
  /** Turns the answer into a stream after this time, so that keep-alives can be sent. */
  readonly streamAfterMs?: number
}

/** The headers of an answer, as JSON and as an event stream. */
export interface AnswerHeaders {
  readonly json: Readonly<Record<string, string>>
  readonly stream: Readonly<Record<string, string>>
}

interface FinalMessage {
  readonly jsonrpc: '2.0'
  readonly id: string | number
  readonly result?: object
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown; readonly status: number }
}

/** Proxies close idle connections. */
const KEEP_ALIVE_MS = 15_000

/** The default headers of answers, and additional ones. */
export function answerHeaders(more: Readonly<Record<string, string>> = {}): AnswerHeaders {
  return {
    json: { 'content-type': 'application/json', ...more },
    stream: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      ...more,
    },
  }
}

const HEADERS = answerHeaders()

export function createAnswerStream({ headers = HEADERS, streamAfterMs }: AnswerOptions = {}): AnswerStream {
  let resolve = (_served: Served): void => {}
  const served = new Promise<Served>(settle => {
    resolve = settle
  })
  const streamTimer = streamAfterMs === undefined ? undefined : setTimeout(begin, streamAfterMs).unref()
  let stream: ReturnType<typeof createEventStream> | undefined
  let hasEnded = false

  function begin() {
    if (stream) return stream
    clearTimeout(streamTimer)
    stream = createEventStream()
    resolve(new Response(stream.body, { headers: headers.stream }))
    return stream
  }

  /** Runs the last step, once. */
  function finish(last: () => void): void {
    if (hasEnded) return
    hasEnded = true
    clearTimeout(streamTimer)
    last()
  }

  function send(message: FinalMessage): void {
    const { status, text } = serialise(message)
    if (!stream) return resolve({ status, headers: headers.json, text })
    stream.send(text)
    stream.end()
  }

  function pass(response: Response): void {
    if (!stream) return resolve(response)
    if (isEventStream(response) && response.body) void stream.pass(response.body)
    else stream.end()
  }

  return {
    served,
    notify(method, params) {
      // A tool may report progress after its call has ended; no client receives that.
      const text = hasEnded ? undefined : tryStringify({ jsonrpc: '2.0', method, params })
      if (text !== undefined) begin().send(text)
    },
    end: message => finish(() => send(message)),
    continueWith: response => finish(() => pass(response)),
    drop: () => finish(() => begin().end()),
  }
}

export function isEventStream(served: Served): served is Response {
  return served instanceof Response && (served.headers.get('content-type')?.startsWith('text/event-stream') ?? false)
}

function serialise(message: FinalMessage): { status: number; text: string } {
  const { jsonrpc, id, result, error } = message
  try {
    if (!error) return { status: 200, text: JSON.stringify({ jsonrpc, id, result }) }
    const { status, ...body } = error
    return { status, text: JSON.stringify({ jsonrpc, id, error: body }) }
  } catch {
    // The client needs some answer even to a result that JSON cannot hold, or it waits forever.
    const unwritable = { code: INTERNAL_ERROR, message: 'The answer cannot be written as JSON.' }
    return { status: 200, text: JSON.stringify({ jsonrpc, id, error: unwritable }) }
  }
}

function createEventStream() {
  const encoder = new TextEncoder()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let source: ReadableStreamDefaultReader<Uint8Array> | undefined
  const write = (frame: string) => controller?.enqueue(encoder.encode(frame))
  const alive = setInterval(() => write(': keepalive\n\n'), KEEP_ALIVE_MS).unref()
  const close = () => {
    clearInterval(alive)
    controller = undefined
  }
  const end = () => {
    controller?.close()
    close()
  }
  const body = new ReadableStream<Uint8Array>({
    start(own) {
      controller = own
    },
    async cancel() {
      close()
      await source?.cancel()
    },
  })
  return {
    body,
    send: (data: string) => write(`event: message\ndata: ${data}\n\n`),
    /** Copies another stream, and ends with it. */
    async pass(from: ReadableStream<Uint8Array>) {
      source = from.getReader()
      try {
        // The client may have disconnected before the other stream was attached.
        if (!controller) return await source.cancel()
        for (let part = await source.read(); !part.done; part = await source.read()) controller?.enqueue(part.value)
      } catch {
        // A source stream that fails just ends; what it sent before is still delivered.
      }
      end()
    },
    end,
  }
}

/** A notification that cannot be serialised must not fail the call that sent it. */
function tryStringify(message: object): string | undefined {
  try {
    return JSON.stringify(message)
  } catch {
    return undefined
  }
}
