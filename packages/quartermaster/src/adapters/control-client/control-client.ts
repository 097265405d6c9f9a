import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import {
  type Answer,
  AppError,
  CONTROL,
  type Control,
  ControlEvent,
  type ControlOperation,
  type ControlOptions,
  ErrorBody,
  isAppError,
  Progress,
  UrlQuestion,
} from '../../contracts/index.ts'
import { parseErrorResponse } from '../../core/kernel/index.ts'
import { Dropped, sendAlone } from '../http-exchange/index.ts'

export interface ControlClientOptions {
  /** Where the `up` listens: `http://127.0.0.1:7420`. */
  url: string
  /** The admin token of its data folder. */
  token: string
}

/** A `Control` over HTTP to the `up` at this URL. Every row of the `CONTROL` table is called the same way. */
export function createControlClient(options: ControlClientOptions): Control {
  const ask = (operation: ControlOperation) => (input: unknown, controlOptions?: ControlOptions) =>
    request(operation, input, { ...options, ...controlOptions })
  const operations = Object.keys(CONTROL) as ControlOperation[]
  return Object.fromEntries(operations.map(operation => [operation, ask(operation)])) as unknown as Control
}

type RequestOptions = ControlClientOptions & ControlOptions

async function request(operation: ControlOperation, input: unknown, options: RequestOptions): Promise<unknown> {
  const failures = createFailures({ operation, url: options.url, signal: options.signal })
  const body = toJson(operation, input)
  const response = await post(operation, body, options).catch(error => {
    throw failures.fromSending(error)
  })
  if (isStream(response)) return readAnswer(operation, response, { options, failures })
  throw await refusal(response, failures)
}

function toJson(operation: ControlOperation, input: unknown): string {
  try {
    return JSON.stringify(input)
  } catch (cause) {
    throw new AppError('INPUT_INVALID', `The input of "${operation}" cannot be written as JSON.`, { cause })
  }
}

/** A working `up` sends a heartbeat every ten seconds. */
const SILENCE_MS = 60_000

function post(operation: string, body: string, options: RequestOptions): Promise<IncomingMessage> {
  return sendAlone({
    method: 'POST',
    url: new URL(`/api/v1/control/${operation}`, options.url),
    headers: {
      Authorization: `Bearer ${options.token}`,
      'Content-Type': 'application/json',
      Accept: 'application/x-ndjson',
      ...(options.openPage ? { 'Quartermaster-Opens-Pages': 'yes' } : {}),
    },
    body,
    signal: options.signal,
    silenceMs: SILENCE_MS,
  })
}

function isStream({ statusCode, headers }: IncomingMessage): boolean {
  return statusCode === 200 && /^application\/x-ndjson\b/.test(headers['content-type'] ?? '')
}

interface AnswerContext {
  options: RequestOptions
  failures: Failures
}

/** A line of the stream. Unknown lines, such as heartbeats, are skipped. */
// Unreadable progress does not make the whole answer unusable.
const Line = z.object({
  progress: Progress.optional().catch(undefined),
  // An unknown question of a newer server is skipped.
  event: ControlEvent.optional().catch(undefined),
  asked: z.object({ id: z.string(), question: UrlQuestion }).optional().catch(undefined),
  takenBack: z.object({ id: z.string() }).optional().catch(undefined),
  result: z.unknown().optional(),
  error: ErrorBody.optional(),
})

async function readAnswer(
  operation: ControlOperation,
  response: IncomingMessage,
  context: AnswerContext,
): Promise<unknown> {
  const pages = new Map<string, AbortController>()
  for await (const text of received(response, context)) {
    const line = parseLine(text, context.failures)
    if (line.asked) void openPage(line.asked, context.options, pages)
    if (line.takenBack) pages.get(line.takenBack.id)?.abort()
    if (line.progress) context.options.onProgress?.(line.progress)
    if (line.event) context.options.onEvent?.(line.event)
    if (line.error) throw AppError.fromJSON(line.error)
    if (line.result !== undefined) return parseOutput(operation, line.result, context.failures)
  }
  throw context.failures.cut()
}

/** A page that was not answered counts as declined. */
async function openPage(
  { id, question }: { id: string; question: UrlQuestion },
  options: RequestOptions,
  pages: Map<string, AbortController>,
): Promise<void> {
  const takenBack = new AbortController()
  pages.set(id, takenBack)
  const answer = await options.openPage?.(question, takenBack.signal).catch((): Answer => ({ action: 'cancel' }))
  pages.delete(id)
  if (takenBack.signal.aborted) return
  // The call has ended meanwhile, and the answer is no longer needed.
  await post('call/answer', JSON.stringify({ id, answer: answer ?? { action: 'decline' } }), options).catch(() => {})
}

async function* received(response: IncomingMessage, { failures }: AnswerContext): AsyncGenerator<string> {
  try {
    yield* readLines(response, MAX_LINE_BYTES)
  } catch (error) {
    throw failures.fromStream(error)
  }
}

function parseLine(text: string, failures: Failures): z.infer<typeof Line> {
  try {
    return Line.parse(JSON.parse(text))
  } catch (cause) {
    throw failures.cut(cause)
  }
}

function parseOutput(operation: ControlOperation, value: unknown, failures: Failures): unknown {
  const parsed = parseLeniently(CONTROL[operation].output, value)
  if (!parsed.success) throw failures.notUnderstood(parsed.error)
  return parsed.data
}

const MAX_REFUSAL_BYTES = 1024 * 1024

async function refusal(response: IncomingMessage, failures: Failures): Promise<AppError> {
  try {
    const body: unknown = JSON.parse(await readText(response, MAX_REFUSAL_BYTES))
    return parseErrorResponse(body) ?? failures.stranger(undefined)
  } catch (cause) {
    return failures.stranger(cause)
  }
}

/** No answer of ours is near this; another server must not be able to exhaust our memory. */
const MAX_LINE_BYTES = 64 * 1024 * 1024

const NEWLINE = 0x0a

/** The non-empty lines of a body, each at most `limit` bytes. Leaving the loop early closes the connection. */
async function* readLines(response: IncomingMessage, limit: number): AsyncGenerator<string> {
  let line = createGatherer(limit)
  for await (const chunk of chunksOf(response)) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      line.add(chunk.subarray(start, end))
      if (line.size() > 0) yield line.text()
      line = createGatherer(limit)
      start = end + 1
    }
    line.add(chunk.subarray(start))
  }
  // A last line without its newline was cut off, and is dropped.
}

/** The whole body, at most `limit` bytes. */
async function readText(response: IncomingMessage, limit: number): Promise<string> {
  const body = createGatherer(limit)
  for await (const chunk of chunksOf(response)) body.add(chunk)
  return body.text()
}

function chunksOf(response: IncomingMessage): AsyncIterable<Buffer> {
  return response
}

interface Gatherer {
  add(bytes: Uint8Array): void
  size(): number
  text(): string
}

function createGatherer(limit: number): Gatherer {
  const parts: Uint8Array[] = []
  let size = 0
  return {
    add(bytes) {
      size += bytes.byteLength
      if (size > limit)
        throw new AppError('LIMIT_EXCEEDED', `The answer holds a line of more than ${limit} bytes.`, {
          details: { limit },
        })
      parts.push(bytes)
    },
    size: () => size,
    text: () => Buffer.concat(parts).toString('utf8'),
  }
}

/** The errors of a request to another process, each with the next step. */
interface Failures {
  /** No answer: nothing was sent, or the outcome is unknown. */
  fromSending(error: unknown): AppError
  /** Reading the answer failed. */
  fromStream(error: unknown): AppError
  /** The answer ended before its last line. */
  cut(cause?: unknown): AppError
  /** The answer does not match its schema. */
  notUnderstood(cause: unknown): AppError
  /** The server is not a Quartermaster. */
  stranger(cause: unknown): AppError
}

interface FailureContext {
  operation: ControlOperation
  url: string
  signal: AbortSignal | undefined
}

function createFailures({ operation, url, signal }: FailureContext): Failures {
  const cancelled = (cause: unknown) => new AppError('CANCELLED', `"${operation}" was cancelled.`, { cause })
  const cut = (cause?: unknown) =>
    NOT_REPEATABLE.has(operation)
      ? outcomeUnknown(operation, url, cause)
      : gone(url, 'stopped in the middle of its answer', cause)
  return {
    cut,
    fromSending: error => {
      if (signal?.aborted) return cancelled(signal.reason)
      return wasNeverSent(error) ? gone(url, 'does not answer any more', error) : cut(error)
    },
    fromStream: error => {
      if (isAppError(error)) return error
      return signal?.aborted ? cancelled(signal.reason) : cut(error)
    },
    notUnderstood: cause =>
      new AppError(
        'OUTPUT_INVALID',
        `The answer of the "up" at ${url} to "${operation}" is not understood. It may be another version; restart it.`,
        { cause },
      ),
    stranger: cause => {
      if (signal?.aborted) return cancelled(signal.reason)
      return gone(url, 'is gone, and another program answers there', cause)
    },
  }
}

/** Operations that may have had an effect although no answer came; all others can simply be repeated. */
const NOT_REPEATABLE: ReadonlySet<ControlOperation> = new Set(['call'])

function outcomeUnknown(operation: ControlOperation, url: string, cause: unknown): AppError {
  const message = `The "up" at ${url} went away while "${operation}" ran; it may have had its effect. Look before you repeat it.`
  return new AppError('OUTCOME_UNKNOWN', message, { cause, details: { url } })
}

function gone(url: string, what: string, cause: unknown): AppError {
  const message = `The "up" at ${url} ${what}. Start it again with "quartermaster up", then repeat the command.`
  return new AppError('DEPENDENCY_UNAVAILABLE', message, { cause, details: { url } })
}

function wasNeverSent(error: unknown): boolean {
  return error instanceof Dropped && !error.wasSent
}

type Key = string | number | symbol
type Unrecognised = z.core.$ZodIssueUnrecognizedKeys

/** Strict objects can be nested; each round handles one level. */
const MAX_ROUNDS = 16

/**
 * Parses an answer of another version. Fields that a strict schema does not know are removed instead of refused, because the `up`
 * may be newer than the command line. Changes `value` in place.
 */
function parseLeniently(schema: z.ZodType, value: unknown): z.ZodSafeParseResult<unknown> {
  let parsed = schema.safeParse(value)
  for (let round = 0; round < MAX_ROUNDS && !parsed.success; round++) {
    const unknown = parsed.error.issues.filter(isUnrecognised)
    if (unknown.length === 0) return parsed
    for (const issue of unknown) removeKeys(value, issue)
    parsed = schema.safeParse(value)
  }
  return parsed
}

function isUnrecognised(issue: z.core.$ZodIssue): issue is Unrecognised {
  return issue.code === 'unrecognized_keys'
}

function removeKeys(value: unknown, { path, keys }: Unrecognised): void {
  const holder = path.reduce(at, value)
  if (typeof holder !== 'object' || holder === null) return
  for (const key of keys) Reflect.deleteProperty(holder, key)
}

function at(value: unknown, key: Key): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}
