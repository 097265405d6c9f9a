import type { IncomingMessage } from 'node:http'
import {
  AppError,
  type Control,
  type ControlOperation,
  type ControlOptions,
  isAppError,
  parseAppError,
} from '../../contracts/index.ts'
import { parseErrorResponse } from '../../core/kernel/index.ts'
import { Dropped, sendAlone } from '../http-exchange/index.ts'

export interface ControlClientOptions {
  /** Where the `up` listens: `http://127.0.0.1:7420`. */
  url: string
  /** The admin token of its data folder. */
  token: string
}

export type RequestOptions = ControlClientOptions & ControlOptions

/** Asks an `up` and reads the lines of its answer, without knowing what is in them. */
export async function askControl<T>(
  operation: ControlOperation,
  input: unknown,
  { options, read }: { options: RequestOptions; read(lines: AsyncIterable<string>, failures: Failures): Promise<T> },
): Promise<T> {
  const failures = createFailures({ operation, url: options.url, signal: options.signal })
  const body = toJson(operation, input)
  const response = await post(operation, body, options).catch(error => {
    throw failures.fromSending(error)
  })
  if (isStream(response)) return read(received(response, failures), failures)
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

export function post(operation: string, body: string, options: RequestOptions): Promise<IncomingMessage> {
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

async function* received(response: IncomingMessage, failures: Failures): AsyncGenerator<string> {
  try {
    yield* readLines(response, MAX_LINE_BYTES)
  } catch (error) {
    throw failures.fromStream(error)
  }
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
export interface Failures {
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

/** What an `up` lends to a bridge. Answers are read without the schemas of the whole control, which would take more than the bridge. */
export function createLenderClient(
  options: ControlClientOptions,
): Pick<Control, 'lendToken' | 'extendToken' | 'revokeToken'> {
  const ask = (operation: ControlOperation) => (input: unknown, more?: ControlOptions) =>
    askControl(operation, input, { options: { ...options, ...more }, read: readResult })
  return {
    lendToken: ask('lendToken'),
    extendToken: ask('extendToken'),
    revokeToken: ask('revokeToken'),
  } as Pick<Control, 'lendToken' | 'extendToken' | 'revokeToken'>
}

async function readResult(lines: AsyncIterable<string>, failures: Failures): Promise<unknown> {
  for await (const text of lines) {
    const { result, error } = parsed(text, failures)
    const failure = parseAppError(error)
    if (failure) throw failure
    if (result !== undefined) return result
  }
  throw failures.cut()
}

function parsed(text: string, failures: Failures): { result?: unknown; error?: unknown } {
  try {
    return JSON.parse(text) as { result?: unknown; error?: unknown }
  } catch (cause) {
    throw failures.cut(cause)
  }
}
