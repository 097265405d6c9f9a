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
import { askControl, type ControlClientOptions, type Failures, post, type RequestOptions } from './control-exchange.ts'

/** A `Control` over HTTP to the `up` at this URL. Every row of the `CONTROL` table is called the same way. */
export function createControlClient(options: ControlClientOptions): Control {
  const asking = (operation: ControlOperation) => (input: unknown, controlOptions?: ControlOptions) =>
    ask(operation, input, { ...options, ...controlOptions })
  const operations = Object.keys(CONTROL) as ControlOperation[]
  return Object.fromEntries(operations.map(operation => [operation, asking(operation)])) as unknown as Control
}

function ask(operation: ControlOperation, input: unknown, options: RequestOptions): Promise<unknown> {
  return askControl(operation, input, {
    options,
    read: (lines, failures) => readAnswer(operation, lines, { options, failures }),
  })
}

interface AnswerContext {
  readonly options: RequestOptions
  readonly failures: Failures
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
  lines: AsyncIterable<string>,
  context: AnswerContext,
): Promise<unknown> {
  const pages = new Map<string, AbortController>()
  for await (const text of lines) {
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
