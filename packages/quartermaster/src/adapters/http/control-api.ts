import { type Context, Hono } from 'hono'
import { z } from 'zod'
import {
  Answer,
  AppError,
  CONTROL,
  type Control,
  type ControlOperation,
  type ControlOptions,
  isForPersons,
  issueText,
  type PersonControl,
} from '../../contracts/index.ts'
import { didYouMean, firstIssues, traceFrom } from '../../core/kernel/index.ts'
import { createOpenQuestions, ndjsonAnswer, type OpenQuestions } from './answers.ts'
import { type ErrorReporter, problemResponse } from './errors.ts'
import { bearerIn, limitInFlight, notAdmin } from './guard.ts'
import type { HttpApp, HttpEnv } from './request.ts'
import { type HttpLimits, isJson, readJsonBody } from './request.ts'

interface ControlApiOptions {
  isAdmin(token: string): boolean
  readonly persons?: Persons | undefined
  control: Control
  limits: HttpLimits
  report: ErrorReporter
}

/** `POST /:operation`, one route for every row of the `CONTROL` table. Without a valid token every request is refused. */
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
    limitInFlight(options.limits.maxInFlight, c => limitKey(callerOf(c, options))),
  )
  api.post('/call/answer', c => takeAnswer(c, { ...options, questions }))
  api.post('/:operation', c => answer(c, { ...options, questions }))
  api.all('/:operation', methodNotAllowed('POST'))
  return api
}

/** The answer to a method that a known path does not support. */
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

/** Takes the answer whether a person has visited the page that a call asked for. */
async function takeAnswer(c: Context<HttpEnv>, options: Answering): Promise<Response> {
  const { limits, questions } = options
  refuseOwnersOnly(callerOf(c, options), undefined)
  const given = GivenAnswer.safeParse(await readJsonBody(c, limits))
  if (!given.success) throw new AppError('INPUT_INVALID', 'The body must be { id, answer: { action } }.')
  const { id, answer } = given.data
  if (!questions.answer(id, answer)) throw new AppError('NAME_UNKNOWN', `No call waits for an answer to "${id}".`)
  return Response.json({ taken: true })
}

/** The header of clients that can have pages opened while they wait. */
const OPENS_PAGES = 'quartermaster-opens-pages'

async function answer(c: Context<HttpEnv>, options: Answering): Promise<Response> {
  const { limits, report, control, persons } = options
  const operation = parseOperation(c.req.param('operation') ?? '')
  refuseOwnersOnly(callerOf(c, options), operation)
  if (!isJson(c.req.header('content-type'))) return unsupportedMediaType()
  const body = await readJsonBody(c, limits)
  const input = parseInput(operation, operation === 'call' ? withKey(body, c.req.header(KEY_HEADER)) : body)
  // Identified again: the token may have been revoked while the body was read.
  const caller = callerOf(c, options)
  // A person gets only the operations for persons, so that nothing can be done as the owner by mistake.
  const own = caller.kind === 'owner' ? control : persons?.controlOf(caller)
  const operations = own as unknown as Record<ControlOperation, Run>
  const trace = traceFrom(c.req.header('traceparent'), c.req.header('tracestate'))
  const run = (given: ControlOptions) => operations[operation](input, trace ? { ...given, trace } : given)
  const signal = c.req.raw.signal
  const questions = c.req.header(OPENS_PAGES) === 'yes' ? options.questions : undefined
  if (acceptsLines(c.req.header('accept'))) {
    const refuseRevoked = () => void callerOf(c, options)
    return ndjsonAnswer({
      run,
      signal,
      heartbeatMs: limits.heartbeatMs,
      report,
      questions,
      refuseRevoked,
      ...(operation === 'events' && { queuedBytes: EVENTS_BYTES }),
    })
  }
  if (operation === 'events')
    throw new AppError('INPUT_INVALID', 'Events come line by line. Send "Accept: application/x-ndjson".')
  return jsonAnswer(run({ signal }), report)
}

/** Many events may happen in one moment, for which no reader is disconnected. */
const EVENTS_BYTES = 1024 * 1024

/** Requests under way count by caller, so that no person can use up the owner's limit. */
function limitKey(caller: ControlCaller): string {
  return caller.kind === 'owner' ? 'admin' : `person ${caller.organisation}/${caller.name}`
}

const KEY_HEADER = 'idempotency-key'

/** The header is the same as the field, for clients and proxies that can set only headers. */
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
    // The framework's own handler gets only instances of Error, and handlers throw other values too.
    return problemResponse(report(error))
  }
}

function parseOperation(name: string): ControlOperation {
  if (Object.hasOwn(CONTROL, name)) return name as ControlOperation
  throw new AppError('NAME_UNKNOWN', `No operation is named "${name}".${didYouMean(name, Object.keys(CONTROL))}`)
}

/** The answer to a body without the content type of JSON. */
export function unsupportedMediaType(): Response {
  const error = new AppError('INPUT_INVALID', 'The body must be JSON. Send "Content-Type: application/json".')
  return problemResponse(error, { status: 415 })
}

function parseInput(operation: ControlOperation, value: unknown): unknown {
  const parsed = CONTROL[operation].input.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = firstIssues(parsed.error.issues)
  const list = issues.map(issueText).join(' ')
  throw new AppError('INPUT_INVALID', `The input of "${operation}" is not right. ${list}`, { details: { issues } })
}

function acceptsLines(accept: string | undefined): boolean {
  return (accept ?? '').split(',').some(type => /^\s*application\/x-ndjson\s*(;|$)/i.test(type))
}

/** How persons use the control API with tokens of their own. */
export interface Persons {
  /** The holder of a token, as long as it is valid. */
  holderOf(
    token: string,
  ):
    | { readonly organisation: string; readonly agent?: string | undefined; readonly person?: string | undefined }
    | undefined
  /** Resolves when the state of a token is known; nothing where it is known already. */
  fresh?(token: string): Promise<void> | undefined
  /** The operations for persons, done as this one: in their own organisation alone. */
  controlOf(person: Person): PersonControl
}

/** Two organisations may have persons of the same name. */
interface Person {
  readonly organisation: string
  readonly name: string
}

type ControlCaller = { readonly kind: 'owner' } | ({ readonly kind: 'person' } & Person)

/**
 * The caller of a request, by its token. Throws `TOKEN_INVALID` for everyone but the owner and persons: an agent must never be
 * able to answer its own requests for approval.
 */
function callerOf(c: Context<HttpEnv>, { isAdmin, persons }: ControlApiOptions): ControlCaller {
  const token = bearerIn(c)
  if (token === undefined) throw notAdmin(token)
  if (isAdmin(token)) return { kind: 'owner' }
  const holder = persons?.holderOf(token)
  if (holder?.person !== undefined) return { kind: 'person', organisation: holder.organisation, name: holder.person }
  if (!persons) throw notAdmin('another')
  throw new AppError(
    'TOKEN_INVALID',
    holder === undefined
      ? 'This is neither the admin token of the data folder nor a valid token of a person. The owner makes one: quartermaster tokens create --person NAME'
      : 'This is the token of an agent, and agents answer nothing here. Send the admin token of the data folder, or one of a person: quartermaster tokens create --person NAME',
  )
}

/** Throws `REQUEST_REFUSED` where a person asks for an operation of the owner. */
function refuseOwnersOnly(caller: ControlCaller, operation: ControlOperation | undefined): void {
  if (caller.kind === 'owner' || (operation !== undefined && isForPersons(operation))) return
  const open = (Object.keys(CONTROL) as ControlOperation[]).filter(isForPersons).join(', ')
  const what = operation === undefined ? 'This' : `"${operation}"`
  const message = `${what} is for the owner of the data folder. With the token of a person there are: ${open}. Ask the owner.`
  throw new AppError('REQUEST_REFUSED', message)
}
