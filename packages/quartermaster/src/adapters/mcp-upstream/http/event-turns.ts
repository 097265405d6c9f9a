import { messageOf } from '../../../contracts/index.ts'
import { createEventParser, type EventParserOptions, type HttpBody, type ServerEvent } from '../../http-client/index.ts'
import { createTurnWorker } from '../session/turn-worker.ts'

/** How a stream of events ended, or that there was none. */
export interface StreamEnd {
  readonly kind: 'ended' | 'broken' | 'unopened' | 'none' | 'garbled'
  readonly reason: string
}

/** Takes what comes over the streams of one channel, in turns that leave time for everybody else. */
export interface EventTurns {
  /** Resolves to how the stream ended, when everything in it was handed over. */
  read(body: HttpBody, handlers: EventHandlers): Promise<StreamEnd>
}

/** Who takes the events, one after the other. */
export interface EventHandlers extends Omit<EventParserOptions, 'onEvent'> {
  onEvent(event: ServerEvent): undefined | Promise<void>
}

type Task = () => undefined | Promise<void>

export function createEventTurns(): EventTurns {
  const open = new Set<HttpBody>()
  let isBusy = false
  const worker = createTurnWorker<Task>({
    handle: task => task(),
    onBusy() {
      isBusy = true
      for (const body of open) body.pause()
    },
    onIdle() {
      if (!isBusy) return
      isBusy = false
      for (const body of open) body.resume()
    },
  })

  return {
    read: (body, { maxBytes, onEvent, onRetry }) =>
      new Promise(resolve => {
        let tasks: Task[] = []
        let isOver = false
        const parse = createEventParser({ maxBytes, onEvent: event => void tasks.push(() => onEvent(event)), onRetry })
        // An end has its turn behind what came before it, and that is known when all of it has been taken apart.
        const end = (kind: StreamEnd['kind'], reason: string) => {
          open.delete(body)
          worker.add([() => void worker.add([() => void resolve({ kind, reason })])])
        }
        const take = (chunk: Buffer) => {
          if (isOver) return
          tasks = []
          const problem = problemIn(parse, chunk)
          worker.add(tasks)
          if (problem === undefined) return
          isOver = true
          end('garbled', `The server sent an event that cannot be taken: ${problem}.`)
          body.destroy()
        }
        open.add(body)
        if (isBusy) body.pause()
        body.read({
          // Taking it apart is work too: there may be nothing in it but comments, however long it is.
          onData: chunk => worker.add(slicesOf(chunk).map(slice => () => void take(slice))),
          onEnd: () => end('ended', 'The server ended the stream before it had answered.'),
          onFail: () => end('broken', 'The connection broke before the answer was there.'),
        })
      }),
  }
}

/** What is taken apart in one go. */
const SLICE_BYTES = 16 * 1024

function slicesOf(chunk: Buffer): readonly Buffer[] {
  if (chunk.length <= SLICE_BYTES) return [chunk]
  const count = Math.ceil(chunk.length / SLICE_BYTES)
  return Array.from({ length: count }, (_, i) => chunk.subarray(i * SLICE_BYTES, (i + 1) * SLICE_BYTES))
}

function problemIn(parse: (chunk: Buffer) => void, chunk: Buffer): string | undefined {
  try {
    parse(chunk)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}
