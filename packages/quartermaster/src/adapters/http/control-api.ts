import { type Context, Hono } from 'hono'
import { z } from 'zod'
import {
  Answer,
  AppError,
  CONTROL,
  type Control,
  type ControlOperation,
  type ControlOptions,
  issueText,
} from '../../contracts/index.ts'
import { didYouMean, fewIssues, traceFrom } from '../../core/kernel/index.ts'
import { ndjsonAnswer } from './answers.ts'
import type { HttpApp, HttpEnv } from './context.ts'
import { type ControlCaller, controlCallerOf, type Doors, refuseOwnersOnly } from './control-caller.ts'
import { type ErrorReporter, problemResponse } from './errors.ts'
import { bearerIn, type HttpLimits, limitInFlight } from './guard.ts'
import { createOpenQuestions, type OpenQuestions } from './open-questions.ts'
import { isJson, readJsonBody } from './request.ts'

interface ControlApiOptions extends Doors {
  control: Control
  limits: HttpLimits
  report: ErrorReporter
}

/** `POST /:operation`, one route for every row of the `CONTROL` table. Nothing is told to who has not shown a token. */
export function controlApi(options: ControlApiOptions): HttpApp {
  const api = new Hono<HttpEnv>()
  const questions = createOpenQuestions()
  api.use('*', async (c, next) => {
    const token = bearerIn(c)
    if (token !== undefined) await options.persons?.fresh?.(token)
    await next()
  })
  api.use(
    '*',
    limitInFlight(options.limits.maxInFlight, c => placeOf(controlCallerOf(c, options))),
  )
  api.post('/call/answer', c => takeAnswer(c, { ...options, questions }))
  api.post('/:operation', c => answer(c, { ...options, questions }))
  api.all('/:operation', methodNotAllowed('POST'))
  return api
}

/** The answer to a method that a known path does not have. */
export function methodNotAllowed(allow: string): (c: Context<HttpEnv>) => Response {
  return c => {
    const error = new AppError('REQUEST_REFUSED', `${c.req.method} is not allowed here. Use ${allow}.`)
    return problemResponse(error, { status: 405, headers: { Allow: allow } })
  }
}

type Run = (input: unknown, options: ControlOptions) => Promise<unknown>

interface Answering extends ControlApiOptions {
  questions: OpenQuestions
}

const GivenAnswer = z.strictObject({ id: z.string(), answer: Answer })

/** A person has visited the page that a call asked for, or declined. */
async function takeAnswer(c: Context<HttpEnv>, { limits, questions, ...doors }: Answering): Promise<Response> {
  refuseOwnersOnly(controlCallerOf(c, doors), undefined)
  const given = GivenAnswer.safeParse(await readJsonBody(c, limits))
  if (!given.success) throw new AppError('INPUT_INVALID', 'The body must be { id, answer: { action } }.')
  const { id, answer } = given.data
  if (!questions.answer(id, answer)) throw new AppError('NAME_UNKNOWN', `No call waits for an answer to "${id}".`)
  return Response.json({ taken: true })
}

/** What a client says that can have pages opened while it waits. */
const OPENS_PAGES = 'quartermaster-opens-pages'

async function answer(c: Context<HttpEnv>, { limits, report, ...parts }: Answering): Promise<Response> {
  const operation = parseOperation(c.req.param('operation') ?? '')
  refuseOwnersOnly(controlCallerOf(c, parts), operation)
  if (!isJson(c.req.header('content-type'))) return unsupportedMediaType()
  const body = await readJsonBody(c, limits)
  const input = parseInput(operation, operation === 'call' ? withKey(body, c.req.header(KEY_HEADER)) : body)
  // Looked at again: the body may have taken its time, and a token that was taken back meanwhile does not count.
  const operations = operationsFor(controlCallerOf(c, parts), parts)
  const trace = traceFrom(c.req.header('traceparent'), c.req.header('tracestate'))
  const run = (options: ControlOptions) => operations[operation](input, trace ? { ...options, trace } : options)
  const signal = c.req.raw.signal
  const questions = c.req.header(OPENS_PAGES) === 'yes' ? parts.questions : undefined
  if (acceptsLines(c.req.header('accept'))) {
    // Thrown where the token does not count any more.
    const refuseGone = () => void controlCallerOf(c, parts)
    return ndjsonAnswer({
      run,
      signal,
      heartbeatMs: limits.heartbeatMs,
      report,
      questions,
      refuseGone,
      ...queueOf(operation),
    })
  }
  if (operation === 'events')
    throw new AppError('INPUT_INVALID', 'Events come line by line. Send "Accept: application/x-ndjson".')
  return jsonAnswer(run({ signal }), report)
}

/** Many events may happen in one moment, and a reader is not to be cut off for that. */
const EVENTS_BYTES = 1024 * 1024

function queueOf(operation: ControlOperation): { queuedBytes?: number } {
  return operation === 'events' ? { queuedBytes: EVENTS_BYTES } : {}
}

/** Of a person only what is theirs exists, so that nothing can be done as the owner by mistake. */
function operationsFor(visitor: ControlCaller, { control, persons }: Pick<Answering, 'control' | 'persons'>) {
  const own = visitor.kind === 'owner' ? control : persons?.controlOf(visitor)
  return own as unknown as Record<ControlOperation, Run>
}

/** Each person has places of their own, so that no person can take the owner's. */
function placeOf(visitor: ControlCaller): string {
  return visitor.kind === 'owner' ? 'admin' : `person ${visitor.organisation}/${visitor.name}`
}

const KEY_HEADER = 'idempotency-key'

/** The header says the same as the field, for clients and proxies that know only headers. */
function withKey(body: unknown, key: string | undefined): unknown {
  if (key === undefined || typeof body !== 'object' || body === null || Array.isArray(body)) return body
  const { idempotencyKey = key } = body as { idempotencyKey?: unknown }
  if (idempotencyKey === key) return { ...body, idempotencyKey }
  const message =
    'The header "Idempotency-Key" and the field "idempotencyKey" differ. Send one of them, or the same in both.'
  throw new AppError('INPUT_INVALID', message)
}

async function jsonAnswer(running: Promise<unknown>, report: ErrorReporter): Promise<Response> {
  try {
    const body = JSON.stringify((await running) ?? null)
    return new Response(body, { headers: { 'Content-Type': 'application/json' } })
  } catch (error) {
    // The framework's own handler sees nothing that is not an Error, and handlers throw all sorts of things.
    return problemResponse(report(error))
  }
}

function parseOperation(name: string): ControlOperation {
  if (Object.hasOwn(CONTROL, name)) return name as ControlOperation
  throw new AppError('NAME_UNKNOWN', `No operation is named "${name}".${didYouMean(name, Object.keys(CONTROL))}`)
}

/** The answer to a body that does not say that it is JSON. */
export function unsupportedMediaType(): Response {
  const error = new AppError('INPUT_INVALID', 'The body must be JSON. Send "Content-Type: application/json".')
  return problemResponse(error, { status: 415 })
}

function parseInput(operation: ControlOperation, value: unknown): unknown {
  const parsed = CONTROL[operation].input.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = fewIssues(parsed.error.issues)
  const list = issues.map(issueText).join(' ')
  throw new AppError('INPUT_INVALID', `The input of "${operation}" is not right. ${list}`, { details: { issues } })
}

function acceptsLines(accept: string | undefined): boolean {
  return (accept ?? '').split(',').some(type => /^\s*application\/x-ndjson\s*(;|$)/i.test(type))
}
