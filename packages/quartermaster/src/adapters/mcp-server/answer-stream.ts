import { INTERNAL_ERROR } from '@modelcontextprotocol/server'

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
  let hasEnded = false

  return {
    served,
    notify(method, params) {
      // A tool that outlives its call may go on telling; there is nobody left to hear it.
      if (hasEnded) return
      if (!stream) {
        stream = createEventStream()
        resolve(new Response(stream.body, { headers: STREAM_HEADERS }))
      }
      stream.send(JSON.stringify({ jsonrpc: '2.0', method, params }))
    },
    end(message) {
      hasEnded = true
      const { status, text } = textOf(message)
      if (!stream) return resolve({ status, headers: JSON_HEADERS, text })
      stream.send(text)
      stream.end()
    },
  }
}

function textOf({ error, ...message }: FinalMessage): { status: number; text: string } {
  const { status = 200, ...body } = error ?? {}
  try {
    return { status, text: JSON.stringify(error ? { ...message, error: body } : message) }
  } catch {
    // Whatever cannot be written as JSON, the client must hear something, or it waits for ever.
    const unwritable = { code: INTERNAL_ERROR, message: 'The answer cannot be written as JSON.' }
    return { status: 200, text: JSON.stringify({ jsonrpc: '2.0', id: message.id, error: unwritable }) }
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
