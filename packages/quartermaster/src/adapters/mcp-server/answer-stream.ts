import { INTERNAL_ERROR } from '@modelcontextprotocol/server'

/**
 * An answer that is one short text. It is written out as it is: a `Response` and its body stream cost more than the call
 * they carry.
 */
interface PlainAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** An answer as it leaves the endpoint. */
export type Served = Response | PlainAnswer

/** An answer that something is held for until it has been sent. */
export interface HeldAnswer {
  readonly served: Served
  /** Lets go of it. */
  release(): void
}

/** The answer to one request: one JSON document, or a stream of messages when something is sent on the way. */
export interface AnswerStream {
  readonly served: Promise<Served>
  /** Sends something before the end. The first one makes it a stream. */
  notify(method: string, params: Record<string, unknown>): void
  end(message: FinalMessage): void
  /** Ends it as another answer goes on; what was sent before stays sent. */
  goOnAs(response: Response): void
  /** Ends it without a message: the client that waited for one does not want it any more. */
  drop(): void
}

interface AnswerOptions {
  readonly headers?: AnswerHeaders
  /** Makes it a stream when it takes this long: one that is sent begins at once, and has signs of life in it. */
  readonly streamAfterMs?: number
}

/** What an answer's headers are, whichever way it goes. */
export interface AnswerHeaders {
  readonly json: Readonly<Record<string, string>>
  readonly stream: Readonly<Record<string, string>>
}

/** How a request ends. */
interface FinalMessage {
  readonly jsonrpc: '2.0'
  readonly id: string | number
  readonly result?: object
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown; readonly status: number }
}

/** Proxies cut a connection on which nothing happens. */
const KEEP_ALIVE_MS = 15_000

/** The headers of answers, and more of them. */
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
  const patience = streamAfterMs === undefined ? undefined : setTimeout(begin, streamAfterMs).unref()
  let stream: EventStream | undefined
  let hasEnded = false

  function begin(): EventStream {
    if (stream) return stream
    clearTimeout(patience)
    stream = createEventStream()
    resolve(new Response(stream.body, { headers: headers.stream }))
    return stream
  }

  /** Does the last that is to be done, unless something else was. */
  function finish(last: () => void): void {
    if (hasEnded) return
    hasEnded = true
    clearTimeout(patience)
    last()
  }

  function send(message: FinalMessage): void {
    const { status, text } = textOf(message)
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
      // A tool that outlives its call may go on reporting; no client hears it.
      const text = hasEnded ? undefined : written({ jsonrpc: '2.0', method, params })
      if (text !== undefined) begin().send(text)
    },
    end: message => finish(() => send(message)),
    goOnAs: response => finish(() => pass(response)),
    drop: () => finish(() => begin().end()),
  }
}

export function isEventStream(served: Served): served is Response {
  return served instanceof Response && (served.headers.get('content-type')?.startsWith('text/event-stream') ?? false)
}

function textOf(message: FinalMessage): { status: number; text: string } {
  const { jsonrpc, id, result, error } = message
  try {
    if (!error) return { status: 200, text: JSON.stringify({ jsonrpc, id, result }) }
    const { status, ...body } = error
    return { status, text: JSON.stringify({ jsonrpc, id, error: body }) }
  } catch {
    // Whatever cannot be written as JSON, the client must hear something, or it waits for ever.
    const unwritable = { code: INTERNAL_ERROR, message: 'The answer cannot be written as JSON.' }
    return { status: 200, text: JSON.stringify({ jsonrpc, id, error: unwritable }) }
  }
}

interface EventStream {
  readonly body: ReadableStream<Uint8Array>
  send(data: string): void
  /** Sends what another stream has to say, and ends with it. */
  pass(source: ReadableStream<Uint8Array>): Promise<void>
  end(): void
}

function createEventStream(): EventStream {
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
    send: data => write(`event: message\ndata: ${data}\n\n`),
    async pass(from) {
      source = from.getReader()
      try {
        // Its reader may have gone before it came to this.
        if (!controller) return await source.cancel()
        for (let part = await source.read(); !part.done; part = await source.read()) controller?.enqueue(part.value)
      } catch {
        // A source that fails has no more to say; what it said before still goes out.
      }
      end()
    },
    end,
  }
}

/** A notice is a courtesy: one that JSON cannot hold must not fail the work that gave it. */
function written(message: object): string | undefined {
  try {
    return JSON.stringify(message)
  } catch {
    return undefined
  }
}
