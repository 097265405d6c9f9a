import type { ControlOptions, Progress } from '../../contracts/index.ts'
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
}

/**
 * Runs and answers line by line: `{"heartbeat":true}` at once and in silence, `{"progress":…}`, `{"asked":…}` and
 * `{"takenBack":…}` as it comes, then exactly one `{"result":…}` or `{"error":…}`.
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
    new ByteLengthQueuingStrategy({ highWaterMark: QUEUED_BYTES }),
  )
  return new Response(stream, { headers: { 'Content-Type': 'application/x-ndjson' } })
}

/** How much may wait for a client that does not read; beyond it progress is dropped, as newer progress will follow. */
const QUEUED_BYTES = 64 * 1024

type Controller = ReadableStreamDefaultController<Uint8Array>

async function deliver(
  controller: Controller,
  { run, signal, heartbeatMs, report, questions }: NdjsonAnswerOptions,
): Promise<void> {
  const lines = createLineWriter(controller, signal)
  lines.offer({ heartbeat: true })
  const heartbeat = setInterval(() => lines.offer({ heartbeat: true }), heartbeatMs)
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
      ...(questions ? { openPage: (question, wanted) => questions.ask(question, client, wanted) } : {}),
    })
    lines.end({ result: result ?? null })
  } catch (error) {
    lines.end({ error: report(error).toJSON() })
  } finally {
    clearInterval(heartbeat)
  }
}

interface LineWriter {
  /** Writes a line that may be left out when the client is behind. */
  offer(line: object): void
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
      if (!open || signal.aborted || (controller.desiredSize ?? 0) <= 0) return
      controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`))
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
