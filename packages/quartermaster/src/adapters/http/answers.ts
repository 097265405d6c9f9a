import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  type Answer,
  type ApiEvent,
  type ApiEvents,
  AppError,
  type ControlEvent,
  type ControlOptions,
  LONGEST_ATTACHMENT_NAME,
  type Progress,
  type UrlQuestion,
} from '../../contracts/index.ts'
import { type GuardedEventsOptions, guardedEvents } from '../../core/kernel/index.ts'
import type { ErrorReporter } from './errors.ts'
import { SECURITY_HEADERS } from './guard.ts'
import { percentDecoded } from './request.ts'

/** An answer that is one short text. */
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
  // The client has gone, and no further event will tell. A body that cannot be cancelled has ended already.
  if (outgoing.destroyed) return void body.cancel().catch(() => {})
  // With the listeners of a stream there are more than ten, which is no leak.
  outgoing.setMaxListeners(MOST_LISTENERS)
  // A client of a stream gets the headers before the first event.
  outgoing.flushHeaders()
  pipeline(Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]), outgoing).catch(() => {
    // The client went away, and the handler was notified.
  })
}

const MOST_LISTENERS = 20

const known = new WeakMap<object, readonly string[]>()

/** Cached, because most answers have the same headers. */
function linesOf(headers: PlainAnswer['headers']): readonly string[] {
  const lines = known.get(headers) ?? flat({ ...SECURITY_HEADERS, ...headers })
  known.set(headers, lines)
  return lines
}

/** The form that Node writes without checking each header. */
function flat(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flat()
}

interface NdjsonAnswerOptions {
  run: (options: ControlOptions) => Promise<unknown>
  /** Aborts when the client goes away. */
  signal: AbortSignal
  heartbeatMs: number
  report: ErrorReporter
  /** Questions to the client, if it can have pages opened. */
  questions: OpenQuestions | undefined
  /** Throws when the client's token is no longer valid; called before each event, and with each heartbeat of events. */
  refuseRevoked: () => void
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
        // A failure while writing ends this answer, and not the process.
        deliver(controller, { ...options, signal }).catch(error => controller.error(error))
      },
      cancel: reason => gone.abort(reason),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: options.queuedBytes ?? QUEUED_BYTES }),
  )
  return new Response(stream, { headers: { 'Content-Type': 'application/x-ndjson' } })
}

/** The buffer for a client that does not read; beyond it progress is dropped, as newer progress will follow. */
const QUEUED_BYTES = 64 * 1024

type Controller = ReadableStreamDefaultController<Uint8Array>

async function deliver(
  controller: Controller,
  { run, signal: gone, heartbeatMs, report, questions, refuseRevoked }: NdjsonAnswerOptions,
): Promise<void> {
  const lines = createLineWriter(controller, gone)
  const over = new AbortController()
  const signal = AbortSignal.any([gone, over.signal])
  const feed = createFeed({ lines, refuseRevoked, report, onEnd: () => over.abort() })
  lines.offer({ heartbeat: true })
  const heartbeat = setInterval(() => {
    lines.offer({ heartbeat: true })
    feed.check()
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
      onEvent: feed.send,
      ...(questions ? { openPage: (question, wanted) => questions.ask(question, client, wanted) } : {}),
    })
    lines.end({ result: result ?? null })
  } catch (error) {
    lines.end({ error: report(error).toJSON() })
  } finally {
    clearInterval(heartbeat)
  }
}

/** Events must not be left out: a client that does not keep up gets an error, and so does one whose token is revoked. */
function createFeed({
  lines,
  refuseRevoked,
  report,
  onEnd,
}: Pick<NdjsonAnswerOptions, 'refuseRevoked' | 'report'> & { readonly lines: LineWriter; onEnd(): void }) {
  let isUsed = false

  function end(error: unknown): void {
    lines.end({ error: report(error).toJSON() })
    onEnd()
  }

  function check(): boolean {
    // An answer without events needs a valid token only at its beginning.
    if (!isUsed) return true
    try {
      refuseRevoked()
      return true
    } catch (error) {
      end(error)
      return false
    }
  }

  return {
    check,
    send(event: ControlEvent): void {
      isUsed = true
      if (check() && !lines.offer({ event })) end(new AppError('LIMIT_EXCEEDED', BEHIND))
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
      // A tool may report progress after its answer, and the client may be gone: neither is an error.
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
 * Answers with Server-Sent Events. Each is made when the client has room for it, so a slow client misses nothing. A client that
 * reads nothing at all is disconnected, and resumes after its last id.
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
        // Otherwise the generator would never end.
        await frames.return(undefined)
      },
    },
    // Nothing is read ahead.
    { highWaterMark: 0 },
  )
  return new Response(stream, { headers: EVENT_HEADERS })
}

/** The last header keeps proxies from buffering the stream. */
export const EVENT_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
} as const

/** The delay after which a disconnected client reconnects. */
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
    // The signal ends it, and nothing waits for the outcome.
    iterator.return?.().catch(() => {})
  }
}

/** `JSON.stringify` writes no line breaks, so an event's data is one line. */
function frameOf({ id, told }: ApiEvent): string {
  return told ? `id: ${id}\nevent: ${told.event}\ndata: ${JSON.stringify(told.data)}\n\n` : `id: ${id}\n\n`
}

/** The file name in a Content-Disposition header (RFC 6266): `filename*` before `filename`. */
export function fileNameIn(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const extended = /;\s*filename\*\s*=\s*utf-8'[\w-]*'([^;\s]+)/i.exec(header)?.[1]
  // A name that is not UTF-8 is ignored.
  const name = extended === undefined ? undefined : percentDecoded(extended)
  if (name !== undefined) return name
  const quoted = /;\s*filename\s*=\s*"((?:[^"\\]|\\.)*)"/i.exec(header)?.[1]
  if (quoted !== undefined) return fromLatin1(quoted.replaceAll(/\\(.)/g, '$1'))
  const token = /;\s*filename\s*=\s*([^;\s"]+)/i.exec(header)?.[1]
  return token === undefined ? undefined : fromLatin1(token)
}

/**
 * A Content-Disposition that makes browsers save the file under this name and never show it. Characters that mean more than a
 * name to a file system or change the reading order are replaced; clients that read only ASCII get a name of their own (RFC 6266,
 * appendix D).
 */
export function savedAs(name: string): string {
  const safe = harmless(name)
  const plain = safe.replaceAll(/[^\x20-\x7e]|["\\%]/gu, '_')
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded(safe)}`
}

/** Control characters, direction marks, path separators, and characters that Windows reserves. */
const UNSAFE = /[\p{Cc}\p{Surrogate}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff/\\:*?"<>|]/gu

function harmless(name: string): string {
  const safe = Array.from(name.replaceAll(UNSAFE, '_')).slice(0, LONGEST_ATTACHMENT_NAME).join('')
  // Names of dots alone are folders, and a leading dot hides a file.
  const shown = safe.replace(/^[.\s]+/, '_').replace(/[.\s]+$/, '')
  return shown === '' ? 'file' : shown
}

/** Keeps only `attr-char` of RFC 5987 §3.2.1; `encodeURIComponent` keeps a few more. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(/['()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Headers are bytes; many clients send UTF-8 in them. */
function fromLatin1(text: string): string {
  const bytes = Buffer.from(text, 'latin1')
  const utf8 = bytes.toString('utf8')
  return utf8.includes('\ufffd') ? text : utf8
}

/** Questions of running calls: pages that a person has to open. */
export interface OpenQuestions {
  /** Sends a question and waits for its answer, as long as the call's client is connected. */
  ask(
    question: UrlQuestion,
    client: AskedClient,
    /** Aborts when the call no longer needs the answer. */
    wanted?: AbortSignal,
  ): Promise<Answer>
  /** Answers whether a call waited for it. */
  answer(id: string, answer: Answer): boolean
}

/** The client that waits for a call and can have pages opened. */
export interface AskedClient {
  tell(asked: { id: string; question: UrlQuestion }): void
  /** The answer is no longer needed. */
  takeBack(id: string): void
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
}

/** The limit of waiting questions; each holds a running call. */
const MOST_OPEN = 100

export function createOpenQuestions(): OpenQuestions {
  const open = new Map<string, (answer: Answer) => void>()
  return {
    ask(question, { tell, takeBack, signal }, wanted) {
      if (open.size >= MOST_OPEN)
        return Promise.reject(new AppError('ANSWER_UNAVAILABLE', `${MOST_OPEN} questions wait for answers already.`))
      if (wanted?.aborted) return Promise.reject(wanted.reason)
      const id = randomUUID()
      return new Promise((resolve, reject) => {
        const leave = () => {
          open.delete(id)
          signal.removeEventListener('abort', gone)
          wanted?.removeEventListener('abort', unwanted)
        }
        const gone = () => {
          leave()
          reject(new AppError('CANCELLED', 'The client that was asked went away.'))
        }
        const unwanted = () => {
          leave()
          takeBack(id)
          reject(wanted?.reason)
        }
        open.set(id, answer => {
          leave()
          resolve(answer)
        })
        signal.addEventListener('abort', gone, { once: true })
        wanted?.addEventListener('abort', unwanted, { once: true })
        tell({ id, question })
      })
    },
    answer(id, answer) {
      const reply = open.get(id)
      reply?.(answer)
      return reply !== undefined
    },
  }
}
