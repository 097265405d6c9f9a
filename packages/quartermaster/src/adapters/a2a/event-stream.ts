import { type GuardedEventsOptions, guardedEvents } from '../../core/kernel/index.ts'
import type { StreamEvent } from './wire.ts'

interface EventStreamOptions extends GuardedEventsOptions {
  readonly events: AsyncIterable<StreamEvent>
  /** How a binding writes an event, and an error after the stream has begun. */
  toData(event: StreamEvent): object
  toFault(error: unknown): object
  /** Told once, however it ends. */
  onEnd(): void
}

/** Proxies close what says nothing for half a minute or more. */
export const PING_MS = 15_000

/** Answers with Server-Sent Events, each made when the client has room for it. */
export function eventStream(options: EventStreamOptions): Response {
  const frames = framesOf(options)
  const encoder = new TextEncoder()
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await frames.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      },
      async cancel() {
        // Lets go of what the next frame would have waited for, so that it comes to its end.
        options.onEnd()
        await frames.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
  const headers = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' }
  return new Response(stream, { headers })
}

async function* framesOf(options: EventStreamOptions): AsyncGenerator<string> {
  const { events, toData, toFault, onEnd, ...guard } = options
  const iterator = events[Symbol.asyncIterator]()
  try {
    for await (const event of guardedEvents(iterator, guard))
      yield event ? `data: ${JSON.stringify(toData(event))}\n\n` : ': ping\n\n'
  } catch (error) {
    yield `event: error\ndata: ${JSON.stringify(toFault(error))}\n\n`
  } finally {
    onEnd()
    // It ends with what `onEnd` releases; the outcome is dropped.
    iterator.return?.().catch(() => {})
  }
}
