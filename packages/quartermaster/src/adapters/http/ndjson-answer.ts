import { AppError, type ControlEvent, type ControlOptions, type Progress } from '../../contracts/index.ts'
import type { ErrorReporter } from './errors.ts'
import type { AskedClient, OpenQuestions } from './open-questions.ts'

export interface NdjsonAnswerOptions {
  run: (options: ControlOptions) => Promise<unknown>
  /** Aborts when the client goes away. */
  signal: AbortSignal
  heartbeatMs: number
  report: ErrorReporter
  /** Where pages that have to be opened wait, for a client that can have one opened. */
  questions: OpenQuestions | undefined
  /** Throws when the client's token does not count any more; looked at before each event, and with each heartbeat of events. */
  refuseGone: () => void
  /** How much may wait for a client that does not read. */
  queuedBytes?: number
}

/**
 * Runs and answers line by line: `{"heartbeat":true}` at once and in silence, `{"progress":…}`, `{"event":…}`,
 * `{"asked":…}` and `{"takenBack":…}` as it comes, then exactly one `{"result":…}` or `{"error":…}`.
 */
export function ndjsonAnswer(options: NdjsonAnswerOptions): Response {
  const gone = new AbortController()
  const signal = AbortSignal.any([options.signal, gone.signal])
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // Whatever goes wrong in telling the answer ends this answer, and not the process.
        deliver(controller, { ...options, signal }).catch(error => controller.error(error))
      },
      cancel: reason => gone.abort(reason),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: options.queuedBytes ?? QUEUED_BYTES }),
  )
  return new Response(stream, { headers: { 'Content-Type': 'application/x-ndjson' } })
}

/** How much may wait for a client that does not read; beyond it progress is dropped, as newer progress will follow. */
const QUEUED_BYTES = 64 * 1024

type Controller = ReadableStreamDefaultController<Uint8Array>

async function deliver(
  controller: Controller,
  { run, signal: gone, heartbeatMs, report, questions, refuseGone }: NdjsonAnswerOptions,
): Promise<void> {
  const lines = createLineWriter(controller, gone)
  const over = new AbortController()
  const signal = AbortSignal.any([gone, over.signal])
  const feed = createFeed({ lines, refuseGone, report, onEnd: () => over.abort() })
  lines.offer({ heartbeat: true })
  const heartbeat = setInterval(() => {
    lines.offer({ heartbeat: true })
    feed.look()
  }, heartbeatMs)
  signal.addEventListener('abort', () => clearInterval(heartbeat), { once: true })
  try {
    const client: AskedClient = {
      tell: asked => lines.write({ asked }),
      takeBack: id => lines.write({ takenBack: { id } }),
      signal,
    }
    const result = await run({
      signal,
      onProgress: (progress: Progress) => lines.offer({ progress }),
      onEvent: feed.tell,
      ...(questions ? { openPage: (question, wanted) => questions.ask(question, client, wanted) } : {}),
    })
    lines.end({ result: result ?? null })
  } catch (error) {
    lines.end({ error: report(error).toJSON() })
  } finally {
    clearInterval(heartbeat)
  }
}

interface FeedDeps {
  readonly lines: LineWriter
  refuseGone(): void
  readonly report: ErrorReporter
  onEnd(): void
}

/** Events must not be left out: a client that does not keep up is cut off and told so, and one whose token is gone as well. */
function createFeed({ lines, refuseGone, report, onEnd }: FeedDeps) {
  let isUsed = false

  function end(error: unknown): void {
    lines.end({ error: report(error).toJSON() })
    onEnd()
  }

  function look(): boolean {
    // An ordinary answer is given to whoever asked for it while their token was good.
    if (!isUsed) return true
    try {
      refuseGone()
      return true
    } catch (error) {
      end(error)
      return false
    }
  }

  return {
    look,
    tell(event: ControlEvent): void {
      isUsed = true
      if (look() && !lines.offer({ event })) end(new AppError('LIMIT_EXCEEDED', BEHIND))
    },
  }
}

const BEHIND = 'The events were not read as fast as they came. Look at what is there now, then follow them again.'

interface LineWriter {
  /** Writes a line that may be left out when the client is behind; answers whether it was written. */
  offer(line: object): boolean
  /** Writes a line that must not be left out. */
  write(line: object): void
  /** Writes the last line. */
  end(line: object): void
}

function createLineWriter(controller: Controller, signal: AbortSignal): LineWriter {
  const encoder = new TextEncoder()
  let open = true
  return {
    offer(line) {
      // A tool may report progress after it has answered, and the client may be gone: both are nobody's mistake.
      if (!open || signal.aborted || (controller.desiredSize ?? 0) <= 0) return false
      controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`))
      return true
    },
    write(line) {
      if (open && !signal.aborted) controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`))
    },
    end(line) {
      if (!open || signal.aborted) return
      const bytes = encoder.encode(`${JSON.stringify(line)}\n`)
      open = false
      controller.enqueue(bytes)
      controller.close()
    },
  }
}
