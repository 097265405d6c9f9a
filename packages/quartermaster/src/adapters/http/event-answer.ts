import type { ApiEvent, ApiEvents } from '../../contracts/index.ts'
import { type GuardedEventsOptions, guardedEvents } from '../../core/kernel/index.ts'
import type { ErrorReporter } from './errors.ts'

export interface EventAnswerOptions extends GuardedEventsOptions {
  readonly events: ApiEvents
  readonly report: ErrorReporter
}

/**
 * Answers with Server-Sent Events. Each is made when the client has room for it, so that nothing is left out for one that is
 * slow: it waits, and one that does not read at all is cut off by the server and goes on behind the last id that it had.
 */
export function eventAnswer(options: EventAnswerOptions): Response {
  const gone = new AbortController()
  const frames = framesOf(options, gone.signal)
  const encoder = new TextEncoder()
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await frames.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      },
      async cancel(reason) {
        gone.abort(reason)
        // One that nobody asks for the next frame any more would never get to its end.
        await frames.return(undefined)
      },
    },
    // Nothing is read before somebody wants it.
    { highWaterMark: 0 },
  )
  return new Response(stream, { headers: EVENT_HEADERS })
}

/** Proxies keep what they take for a page until it is whole, unless they are told. */
export const EVENT_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
} as const

/** A client that was cut off comes back this soon. */
const RETRY_MS = 1_000

async function* framesOf(options: EventAnswerOptions, gone: AbortSignal): AsyncGenerator<string> {
  const { events, report, ...guard } = options
  const over = new AbortController()
  const iterator = events(AbortSignal.any([gone, over.signal]))[Symbol.asyncIterator]()
  try {
    yield `retry: ${RETRY_MS}\n\n`
    for await (const event of guardedEvents(iterator, guard)) yield event ? frameOf(event) : ': ping\n\n'
  } catch (error) {
    yield `event: end\ndata: ${JSON.stringify(report(error).toJSON())}\n\n`
  } finally {
    over.abort()
    // It ends with the signal, and nobody hears of how.
    iterator.return?.().catch(() => {})
  }
}

/** JSON has no line breaks of its own, so that an event's data is one line. */
function frameOf({ id, told }: ApiEvent): string {
  return told ? `id: ${id}\nevent: ${told.event}\ndata: ${JSON.stringify(told.data)}\n\n` : `id: ${id}\n\n`
}
