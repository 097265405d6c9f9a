/**
 * An answer that is one short text. It is written out as it is: a `Response` and its body stream cost more than the call
 * they carry.
 */
export interface PlainAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** An answer as it leaves the endpoint. */
export type Served = Response | PlainAnswer

/** The answer to one request: one JSON document, or a stream of messages when something is sent on the way. */
export interface AnswerStream {
  readonly served: Promise<Served>
  /** Sends something before the end. The first one makes it a stream. */
  notify(method: string, params: Record<string, unknown>): void
  end(message: FinalMessage): void
}

/** How a request ends. */
export interface FinalMessage {
  readonly jsonrpc: '2.0'
  readonly id: string | number
  readonly result?: object
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown; readonly status: number }
}

/** Proxies cut a connection on which nothing happens. */
const KEEP_ALIVE_MS = 15_000

const JSON_HEADERS = { 'content-type': 'application/json' }
const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

export function createAnswerStream(): AnswerStream {
  let resolve = (_served: Served): void => {}
  const served = new Promise<Served>(settle => {
    resolve = settle
  })
  let stream: EventStream | undefined

  return {
    served,
    notify(method, params) {
      if (!stream) {
        stream = createEventStream()
        resolve(new Response(stream.body, { headers: STREAM_HEADERS }))
      }
      stream.send(JSON.stringify({ jsonrpc: '2.0', method, params }))
    },
    end({ error, ...message }) {
      const { status = 200, ...body } = error ?? {}
      const text = JSON.stringify(error ? { ...message, error: body } : message)
      if (!stream) return resolve({ status, headers: JSON_HEADERS, text })
      stream.send(text)
      stream.end()
    },
  }
}

interface EventStream {
  readonly body: ReadableStream<Uint8Array>
  send(data: string): void
  end(): void
}

function createEventStream(): EventStream {
  const encoder = new TextEncoder()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const write = (frame: string) => controller?.enqueue(encoder.encode(frame))
  const alive = setInterval(() => write(': keepalive\n\n'), KEEP_ALIVE_MS).unref()
  const close = () => {
    clearInterval(alive)
    controller = undefined
  }
  const body = new ReadableStream<Uint8Array>({
    start(own) {
      controller = own
    },
    cancel: close,
  })
  return {
    body,
    send: data => write(`event: message\ndata: ${data}\n\n`),
    end() {
      controller?.close()
      close()
    },
  }
}
