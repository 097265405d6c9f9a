import type { StreamEvent } from './wire.ts'

export interface EventStreamOptions {
  readonly events: AsyncIterable<StreamEvent>
  /** How a binding writes an event, and an error after the stream has begun. */
  toData(event: StreamEvent): object
  toFault(error: unknown): object
  /** Throws when whoever follows may not any more. */
  stillAdmitted(): Promise<unknown>
  /** Calls back when somebody's access may have ended. */
  onAccessChange(look: () => void): () => void
  /** Told once, however it ends. */
  onEnd(): void
}

/** Proxies close what says nothing for half a minute or more. */
const PING_MS = 15_000

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
  const { events, toData, toFault, stillAdmitted, onAccessChange, onEnd } = options
  const iterator = events[Symbol.asyncIterator]()
  const alarm = createAlarm(onAccessChange)
  try {
    for (let next = iterator.next(); ; ) {
      const turn = await Promise.race([next, alarm.rung()])
      // Before each event: whoever has lost the right to it in this moment does not get it.
      await stillAdmitted()
      if (turn === undefined) yield ': ping\n\n'
      else if (turn.done) return
      else {
        yield `data: ${JSON.stringify(toData(turn.value))}\n\n`
        next = iterator.next()
      }
    }
  } catch (error) {
    yield `event: error\ndata: ${JSON.stringify(toFault(error))}\n\n`
  } finally {
    alarm.stop()
    onEnd()
    // It ends with what `onEnd` lets go of, and nobody hears of how.
    iterator.return?.().catch(() => {})
  }
}

/** Rings every so often, and when somebody's access has changed. */
function createAlarm(onAccessChange: EventStreamOptions['onAccessChange']) {
  let ring: () => void = () => {}
  let isDue = false
  const due = () => {
    isDue = true
    ring()
  }
  const timer = setInterval(due, PING_MS)
  const off = onAccessChange(due)
  return {
    rung: () =>
      new Promise<undefined>(resolve => {
        ring = () => {
          isDue = false
          resolve(undefined)
        }
        if (isDue) ring()
      }),
    stop() {
      clearInterval(timer)
      off()
    },
  }
}
