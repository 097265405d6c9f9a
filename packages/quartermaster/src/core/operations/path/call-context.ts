import {
  type Answer,
  AppError,
  type Caller,
  type EffectSpec,
  issueText,
  messageOf,
  type PersonQuestion,
  Progress,
  Question,
  type QuestionKind,
  questionText,
  type ToolResult,
} from '../../../contracts/index.ts'
import {
  type AskOptions,
  CANCEL_SIGNAL,
  type CallContext,
  PAUSE_RUN,
  type SchemaCompiler,
  type Tool,
} from '../../catalogue/index.ts'
import { type CancelSignal, firstIssues, type Log, traceIdOf, unlessCancelled } from '../../kernel/index.ts'
import { type LogLevel } from '../elicitation/elicitation.ts'
import { type Operations } from '../record/operations.ts'
import { type CallRequest, type CallState, isDeliveredTo } from './call-state.ts'
import { type Deadline } from './deadline.ts'
import { type KeptResults } from './kept-results.ts'

export interface ContextParts {
  readonly tool: Tool
  readonly config: unknown
  readonly deadline: Deadline
  readonly log: Log
  readonly compiler: SchemaCompiler
  /** What is on record of the caller. */
  readonly records: Pick<Operations, 'show' | 'waiting'>
  readonly results: Pick<KeptResults, 'page'>
  /** What is still to be done, on a second attempt. */
  readonly missingEffects: readonly EffectSpec[]
  /** Calls another tool from inside this one. */
  nested(tool: string, input: unknown): Promise<ToolResult>
}

// No private fields: what a handler derives from its context inherits the getters, and these look there.
const CALL_STATE = Symbol('callState')
const PARTS = Symbol('parts')

/**
 * What a handler gets beside its input. A class, because an object with getters of its own is slow to make; members that are
 * taken out and called alone are bound to the object all the same.
 */
export class RunContext implements CallContext {
  readonly caller: CallContext['caller']
  readonly client: string
  readonly config: unknown
  readonly operationId: string
  readonly idempotencyKey: string
  readonly trace: CallContext['trace']
  readonly progress: CallContext['progress']
  readonly ask: CallContext['ask']
  readonly canAnswer: CallContext['canAnswer']
  readonly call: CallContext['call']
  readonly operation: CallContext['operation']
  readonly waitingOperations: CallContext['waitingOperations']
  readonly resultPage: CallContext['resultPage']
  readonly missingEffects: CallContext['missingEffects']
  readonly [CALL_STATE]: CallState
  readonly [PARTS]: ContextParts

  constructor(callState: CallState, parts: ContextParts) {
    const { request, operationId } = callState
    const { tool, log, records, results } = parts
    const { caller } = request.session
    this.caller = caller
    this.client = request.client ?? operationId
    this.config = parts.config
    this.operationId = operationId
    this.idempotencyKey = operationId
    this.trace = request.trace
    this.progress = progressOf(request, tool, log)
    this.ask = askOf(request, parts)
    this.canAnswer = canAnswerOf(request)
    this.call = parts.nested
    this.operation = operationOf(callState, records)
    this.waitingOperations = waitingOf(caller, records)
    this.resultPage = resultPageOf(caller, results)
    this.missingEffects = parts.missingEffects
    this[CALL_STATE] = callState
    this[PARTS] = parts
  }

  get signal(): AbortSignal {
    return this[PARTS].deadline.signal()
  }

  get [CANCEL_SIGNAL](): CancelSignal {
    return this[PARTS].deadline.cancelSignal()
  }

  [PAUSE_RUN](): () => void {
    return this[PARTS].deadline.pauseRun()
  }

  get deadline(): number {
    return this[PARTS].deadline.at()
  }

  get log(): Log {
    const { request, operationId } = this[CALL_STATE]
    const { tool, log } = this[PARTS]
    const facts = { tool: tool.name, operationId }
    const { trace, onLog } = request
    return toolLog(log, trace ? { ...facts, traceId: traceIdOf(trace) } : facts, onLog)
  }
}

// Each is made by a function of its own: V8 puts what is written out as `this.name = () => …` among the old objects at once, and
// with it all that the call holds, which is then copied and kept until the next great collection.

const progressOf =
  (request: CallRequest, tool: Tool, log: Log): CallContext['progress'] =>
  update =>
    passProgress(update, request, tool, log)

const askOf =
  (request: CallRequest, { tool, deadline, compiler }: ContextParts): CallContext['ask'] =>
  (question, options) =>
    askWhileWanted(question, { request, subject: tool.name, deadline, compiler }, options)

const canAnswerOf =
  (request: CallRequest): CallContext['canAnswer'] =>
  kind =>
    canAnswer(request, kind)

const operationOf =
  (callState: CallState, records: ContextParts['records']): CallContext['operation'] =>
  id =>
    records.show(callState.request.session.caller, id, isDeliveredTo(callState))

const waitingOf =
  (caller: Caller, records: ContextParts['records']): CallContext['waitingOperations'] =>
  () =>
    records.waiting(caller)

const resultPageOf =
  (caller: Caller, results: ContextParts['results']): CallContext['resultPage'] =>
  (id, offset) =>
    results.page(caller, id, offset)

/** Progress is a courtesy: neither a bad value nor a listener that fails may change how the call ends. */
function passProgress(update: unknown, { onProgress, session }: CallRequest, tool: Tool, log: Log): void {
  const parsed = Progress.safeParse(update)
  if (!parsed.success) return log.warn('progress that is none was dropped', { tool: tool.name })
  try {
    onProgress?.(parsed.data)
    session.callbacks?.progress?.({ tool: tool.name, ...parsed.data })
  } catch (error) {
    log.warn('a listener to progress failed', { tool: tool.name, error: messageOf(error) })
  }
}

/** The diagnostic log, and beside it whatever the client wants to see. */
export function toolLog(log: Log, facts: Record<string, unknown>, onLog: CallRequest['onLog']): Log {
  const write = (level: LogLevel) => (message: string, fields?: Record<string, unknown>) => {
    log[level](message, { ...fields, ...facts })
    onLog?.(level, message, fields)
  }
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

interface AskParts {
  readonly request: Pick<CallRequest, 'session' | 'ask'>
  /** Who asks, for messages: the tool. */
  readonly subject: string
  readonly signal: AbortSignal
  readonly compiler: SchemaCompiler
}

/** Whether a client or host can answer questions of this kind. */
export function canAnswer(
  { session, ask, canAnswer: can }: Pick<CallRequest, 'session' | 'ask' | 'canAnswer'>,
  kind: QuestionKind,
): boolean {
  return ask ? (can?.(kind) ?? true) : session.callbacks?.ask !== undefined
}

interface Asking extends Omit<AskParts, 'signal'> {
  readonly deadline: Deadline
}

/** Asks for as long as there is time and the answer is wanted. Waiting for a person is not running: that time stands still. */
export function askWhileWanted(question: Question, asking: Asking, options: AskOptions = {}): Promise<Answer> {
  const asked = askInTime(question, asking, options)
  // Nothing handles the end of a withdrawn question.
  asked.catch(() => {})
  return asked
}

async function askInTime(question: Question, { deadline, ...parts }: Asking, { signal }: AskOptions): Promise<Answer> {
  const over = new AbortController()
  // Not its `AbortSignal`: that one warns of a leak where many questions are asked at a time.
  const leave = [deadline.cancelSignal(), ...(signal ? [signal] : [])].map(one => abortWith(one, over))
  const resume = deadline.pauseRun()
  try {
    over.signal.throwIfAborted()
    const asked = askFitting(question, { ...parts, signal: over.signal })
    return await deadline.race(unlessCancelled(asked, over.signal))
  } catch (error) {
    // Withdraws the question where it was asked.
    over.abort(error)
    throw error
  } finally {
    resume()
    for (const end of leave) end()
  }
}

function abortWith(signal: CancelSignal, controller: AbortController): () => void {
  const abort = () => controller.abort(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  return () => signal.removeEventListener('abort', abort)
}

/** How often a question is put when its answers do not fit. */
const MOST_TRIES = 3

/** Asks, and asks again when what comes back is not what the question wants. */
async function askFitting(written: Question, parts: AskParts): Promise<Answer> {
  const question = parseQuestion(written, parts.subject)
  const validate = answerValidator(question, parts.compiler)
  let asked = question
  for (let tries = 1; ; tries++) {
    const answer = await askPerson(asked, parts)
    const wrong = validate(answer)
    if (wrong === undefined) return answer
    if (tries === MOST_TRIES) {
      const message = `"${parts.subject}" asked ${MOST_TRIES} times and got no answer that fits. ${wrong}`
      throw new AppError('ANSWER_UNAVAILABLE', message)
    }
    asked = {
      ...(question as PersonQuestion),
      message: `${questionText(question)} (The last answer did not fit: ${wrong})`,
    }
  }
}

function parseQuestion(written: Question, subject: string): Question {
  const parsed = Question.safeParse(written)
  if (parsed.success) return parsed.data
  const lines = firstIssues(parsed.error.issues).map(issueText).join(' ')
  throw new AppError('DEFINITION_INVALID', `What "${subject}" asks is no question. ${lines}`)
}

/** What is wrong with an answer, if anything. Only a person's accepted answer has a shape to keep to. */
function answerValidator(question: Question, compiler: SchemaCompiler): (answer: Answer) => string | undefined {
  const schema = 'schema' in question && question.kind !== 'model' ? question.schema : undefined
  if (schema === undefined) return () => undefined
  const check = compiler.compile(schema)
  return ({ action, content = {} }) => {
    if (action !== 'accept') return undefined
    const checked = check(content)
    return checked.ok ? undefined : checked.issues.map(issueText).join(' ')
  }
}

async function askPerson(question: Question, { request, subject, signal }: AskParts): Promise<Answer> {
  if (request.ask) return request.ask(question, signal)
  const callback = request.session.callbacks?.ask
  if (callback) return callback(question, { tool: subject, signal })
  const message = `"${subject}" has a question, and no person is there to answer it: "${questionText(question)}"`
  throw new AppError('ANSWER_UNAVAILABLE', message)
}
