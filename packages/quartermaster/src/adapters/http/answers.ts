import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  type ApiEvent,
  type ApiEvents,
  AppError,
  type ControlEvent,
  type ControlOptions,
  LONGEST_ATTACHMENT_NAME,
  type Progress,
} from '../../contracts/index.ts'
import { type GuardedEventsOptions, guardedEvents } from '../../core/kernel/index.ts'
import { percentDecoded } from './context.ts'
import type { ErrorReporter } from './errors.ts'
import { SECURITY_HEADERS } from './guard.ts'
import type { AskedClient, OpenQuestions } from './open-questions.ts'

/** An answer that is one short text and is written out as it is. */
export interface PlainAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** Writes an answer of an endpoint. */
export function writeAnswer(answer: Response | PlainAnswer, outgoing: ServerResponse): void {
  if (answer instanceof Response) writeResponse(answer, outgoing)
  else writePlain(answer, outgoing)
}

function writePlain({ status, headers, text }: PlainAnswer, outgoing: ServerResponse): void {
  outgoing.writeHead(status, [...linesOf(headers), 'content-length', String(Buffer.byteLength(text))]).end(text)
}

function writeResponse({ status, headers, body }: Response, outgoing: ServerResponse): void {
  outgoing.writeHead(status, flat({ ...SECURITY_HEADERS, ...Object.fromEntries(headers) }))
  if (!body) return void outgoing.end()
  // A client that has gone already does not go again. What fails to end has ended, too.
  if (outgoing.destroyed) return void body.cancel().catch(() => {})
  // Several parts listen for the end of an answer. With those of a stream they are more than ten, which is no leak.
  outgoing.setMaxListeners(MOST_LISTENERS)
  // A stream tells first of all that it is one.
  outgoing.flushHeaders()
  pipeline(Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]), outgoing).catch(() => {
    // The client went away; the handler was told.
  })
}

const MOST_LISTENERS = 20

const known = new WeakMap<object, readonly string[]>()

/** Most answers have the very same headers. */
function linesOf(headers: PlainAnswer['headers']): readonly string[] {
  const lines = known.get(headers) ?? flat({ ...SECURITY_HEADERS, ...headers })
  known.set(headers, lines)
  return lines
}

/** As Node takes them without a look at each. */
function flat(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flat()
}

interface NdjsonAnswerOptions {
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
    // An ordinary answer goes to the caller whose token was valid when it asked.
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
      // A tool may report progress after it has answered, and the client may be gone: neither is a mistake.
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

interface EventAnswerOptions extends GuardedEventsOptions {
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
        // A stream from which no further frame is read would never end.
        await frames.return(undefined)
      },
    },
    // Nothing is read before the client wants it.
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
    // It ends with the signal; the outcome is dropped.
    iterator.return?.().catch(() => {})
  }
}

/** JSON has no line breaks of its own, so that an event's data is one line. */
function frameOf({ id, told }: ApiEvent): string {
  return told ? `id: ${id}\nevent: ${told.event}\ndata: ${JSON.stringify(told.data)}\n\n` : `id: ${id}\n\n`
}

/** The file name that a Content-Disposition header says (RFC 6266): `filename*` before `filename`. */
export function fileNameIn(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const extended = /;\s*filename\*\s*=\s*utf-8'[\w-]*'([^;\s]+)/i.exec(header)?.[1]
  // Not UTF-8 after all is as if it had not been said.
  const name = extended === undefined ? undefined : percentDecoded(extended)
  if (name !== undefined) return name
  const quoted = /;\s*filename\s*=\s*"((?:[^"\\]|\\.)*)"/i.exec(header)?.[1]
  if (quoted !== undefined) return fromLatin1(quoted.replaceAll(/\\(.)/g, '$1'))
  const token = /;\s*filename\s*=\s*([^;\s"]+)/i.exec(header)?.[1]
  return token === undefined ? undefined : fromLatin1(token)
}

/**
 * Tells a browser to save it under this name, and never to show it. Whatever could mean more than a name to a file system or
 * turn the reading order around is replaced; a name in ASCII goes with it for those who read no other (RFC 6266, appendix D).
 */
export function savedAs(name: string): string {
  const safe = harmless(name)
  const plain = safe.replaceAll(/[^\x20-\x7e]|["\\%]/gu, '_')
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded(safe)}`
}

/** Control characters, marks of direction, separators of paths, and what Windows keeps for itself. */
const UNSAFE = /[\p{Cc}\p{Surrogate}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff/\\:*?"<>|]/gu

function harmless(name: string): string {
  const safe = Array.from(name.replaceAll(UNSAFE, '_')).slice(0, LONGEST_ATTACHMENT_NAME).join('')
  // Names of dots alone are places, and a leading one hides a file.
  const shown = safe.replace(/^[.\s]+/, '_').replace(/[.\s]+$/, '')
  return shown === '' ? 'file' : shown
}

/** `attr-char` of RFC 5987 §3.2.1 stays; `encodeURIComponent` leaves a few more alone. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(/['()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Headers are bytes; many clients send UTF-8 in them. */
function fromLatin1(text: string): string {
  const bytes = Buffer.from(text, 'latin1')
  const utf8 = bytes.toString('utf8')
  return utf8.includes('\ufffd') ? text : utf8
}
