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
  Progress,
  UrlQuestion,
} from '../../contracts/index.ts'
import { toldError } from '../../core/kernel/index.ts'
import { sendAlone } from '../http-exchange/index.ts'
import { createFailures, type Failures } from './errors.ts'
import { parseLeniently } from './lenient.ts'
import { MAX_LINE_BYTES, readLines, readText } from './lines.ts'

export interface ControlClientOptions {
  /** Where the `up` listens: `http://127.0.0.1:7420`. */
  url: string
  /** The admin token of its data folder. */
  token: string
}

/** A `Control` whose work is done by the `up` at this URL. Every row of the `CONTROL` table is served the same way. */
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

/** An `up` that works says so every ten seconds. One that has been stopped, or whose machine is gone, says nothing at all. */
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

/** A line of the stream. Unknown ones, such as heartbeats, are passed over. */
// Progress that cannot be read is no reason to take the whole answer for lost.
const Line = z.object({
  progress: Progress.optional().catch(undefined),
  // One that a newer server tells and nobody here knows is passed over.
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

/** Whoever does not come back from a page has not agreed to anything. */
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
  // Where the call has ended meanwhile, nobody waits for it any more.
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
    return toldError(body) ?? failures.stranger(undefined)
  } catch (cause) {
    return failures.stranger(cause)
  }
}
