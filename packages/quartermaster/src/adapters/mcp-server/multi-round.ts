import { createHash, randomUUID } from 'node:crypto'
import {
  type ClientCapabilities,
  type InputRequest,
  type InputRequiredResult,
  type InputResponseView,
  inputRequired,
  inputResponse,
} from '@modelcontextprotocol/server'
import {
  type Answer,
  AppError,
  type ModelQuestion,
  type Progress,
  type Question,
  type QuestionKind,
  questionText,
} from '../../contracts/index.ts'
import { type CancelSignal, canonicalJson } from '../../core/kernel/index.ts'
import type {
  Asked,
  CallListeners,
  Elicitation,
  ElicitationContext,
  Elicitations,
} from '../../core/operations/index.ts'
import type { CarriedState } from './mcp-request.ts'
import { clientOf, hasDisconnected, type McpRequest } from './mcp-request.ts'

/** Work that may take several rounds of requests because it asks the client questions. */
export interface RoundWork<T> {
  /** Identifies the caller and the request; only an equal request may continue the work. Lazy: most work asks nothing. */
  owner(): string
  begin(context: RoundContext): Promise<T>
}

interface RoundContext extends ElicitationContext {
  readonly client: string | undefined
  canAnswer(kind: QuestionKind): boolean
}

type RoundResult<T> = { readonly answer: T } | { readonly required: InputRequiredResult }

/** Runs one round: the answer, or the questions the client has to answer first. */
export async function runRound<T>(
  exchanges: Elicitations,
  work: RoundWork<T>,
  request: McpRequest,
): Promise<RoundResult<T>> {
  const exchange = startOrResume(exchanges, work, request)
  const turn = await exchange.turn(request.signal, listenersOf(request))
  if ('answer' in turn) return turn
  return { required: await askClient(exchanges, { exchange, questions: turn.questions, work, request }) }
}

/** Starts the work, or resumes it with the client's answers. */
export function startOrResume<T>(exchanges: Elicitations, work: RoundWork<T>, request: McpRequest): Elicitation<T> {
  if (request.state) {
    const { exchangeId, round } = request.state
    const { inputResponses } = request
    const said = new Map(
      Object.entries(inputResponses).map(([key, response]) => [key, ownerHash(canonicalJson(response))]),
    )
    const answersTo = (questions: ReadonlyMap<string, Question>) => toAnswers(questions, inputResponses)
    return exchanges.resume<T>(exchangeId, work.owner(), { round, said, answersTo })
  }
  return exchanges.start({
    holder: request.holder,
    early: toEarlyAnswers(request.inputResponses),
    begin: context =>
      work.begin({
        signal: context.signal,
        onProgress: context.onProgress,
        onLog: context.onLog,
        isDelivered: context.isDelivered,
        onRecorded: context.onRecorded,
        async ask(question, signal) {
          refuseUnanswerable(question, request.client)
          return context.ask(question, signal)
        },
        canAnswer: kind => canAnswer(kind, request.client),
        client: clientOf(request),
      }),
  })
}

/** A round that ends with questions. */
interface OpenRound<T> {
  readonly exchange: Elicitation<T>
  readonly questions: ReadonlyMap<string, Question>
  readonly work: RoundWork<T>
  readonly request: McpRequest
}

/** Parks the work and returns its questions to the client. */
export async function askClient<T>(
  exchanges: Elicitations,
  { exchange, questions, work, request }: OpenRound<T>,
): Promise<InputRequiredResult> {
  const asked = exchanges.park(exchange, { owner: work.owner(), holder: request.holder ?? IN_PROCESS })
  // Before 2026-07-28 the request stays open during all rounds, and cancelling it cancels the work.
  if (!request.isModern && !request.state) cancelWith(request.signal, exchange)
  exchange.show(questions)
  const operationId = exchange.operationId()
  const known = operationId === undefined ? {} : { operationId, ...consentIn(questions, operationId, asked) }
  const requestState = await request.sign({ exchangeId: exchange.id(), round: asked.round, ...known })
  const required = inputRequired({ inputRequests: toInputRequests(questions, request), requestState })
  if (operationId === undefined) return required
  return { ...required, _meta: { ...required._meta, 'quartermaster/operationId': operationId } }
}

/** The question that asks for consent to the call itself, not to a nested call. */
function consentIn(
  questions: ReadonlyMap<string, Question>,
  operationId: string,
  { askedAt }: Asked,
): Pick<CarriedState, 'consent'> {
  const [key] = [...questions].find(([, one]) => 'consentFor' in one && one.consentFor === operationId) ?? []
  return key === undefined ? {} : { consent: { key, askedAt } }
}

/** All clients inside this process share this credential. */
const IN_PROCESS = 'in process'

function cancelWith(signal: CancelSignal, exchange: Elicitation<unknown>): void {
  const cancel = () => {
    exchange.leave()
    exchange.cancel(new AppError('CANCELLED', 'The client cancelled the request.'))
  }
  if (signal.aborted) return cancel()
  signal.addEventListener('abort', cancel, { once: true })
  const leave = () => signal.removeEventListener('abort', cancel)
  exchange.done.then(leave, leave)
}

/** A hash of what was asked for: the input may be megabytes, and is kept until a person answers. */
export function ownerHash(...parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('base64url')
}

/** The client as a listener of progress and logs, as far as it asked for them. */
export function listenersOf(request: McpRequest): CallListeners {
  const { progressToken } = request.meta
  const onProgress = (progress: Progress) => request.notify('notifications/progress', { progressToken, ...progress })
  return {
    onProgress: progressToken === undefined ? undefined : onProgress,
    isGone: () => hasDisconnected(request),
    onLog: (level, message, fields) => request.log(level, fields === undefined ? message : { message, ...fields }),
  }
}

export function toInputRequests(
  questions: ReadonlyMap<string, Question>,
  era: { isModern: boolean },
): Record<string, InputRequest> {
  return Object.fromEntries([...questions].map(([key, question]) => [key, toInputRequest(question, era)]))
}

function toInputRequest(question: Question, { isModern }: { isModern: boolean }): InputRequest {
  if (question.kind === 'roots') return { method: 'roots/list', params: {} }
  if (question.kind === 'model') {
    const { kind: _kind, key: _key, ...params } = question
    return inputRequired.createMessage(params as never)
  }
  if (question.kind === 'url') {
    const { message, url, elicitationId } = question
    // Only clients before 2026-07-28 identify pages.
    const id = isModern ? {} : { elicitationId: elicitationId ?? randomUUID() }
    return inputRequired.elicitUrl({ message, url, ...id } as never)
  }
  const requestedSchema = (question.schema ?? { type: 'object', properties: {} }) as never
  return inputRequired.elicit({ message: question.message, requestedSchema })
}

/** The answers among a client's responses. A response of another kind is dropped, so its question is asked again. */
export function toAnswers(
  questions: ReadonlyMap<string, Question>,
  responses: Readonly<Record<string, unknown>>,
): Record<string, Answer> {
  const entries = [...questions].flatMap(([key, question]) => {
    const answer = toAnswer(responses, key, question)
    return answer ? [[key, answer] as const] : []
  })
  return Object.fromEntries(entries)
}

/** Answers to questions that were not asked yet: a client may know them from an earlier call. */
export function toEarlyAnswers(responses: Readonly<Record<string, unknown>>): Readonly<Record<string, Answer>> {
  const keys = Object.keys(responses)
  if (keys.length === 0) return NO_ANSWERS
  const entries = keys.flatMap(key => {
    const answer = toAnswer(responses, key)
    return answer ? [[key, answer] as const] : []
  })
  return Object.fromEntries(entries)
}

const NO_ANSWERS: Readonly<Record<string, Answer>> = Object.freeze({})

const KIND_OF_ANSWER = { person: 'elicit', url: 'elicit', model: 'sampling', roots: 'roots' } as const

function toAnswer(responses: Readonly<Record<string, unknown>>, key: string, question?: Question): Answer | undefined {
  const response = inputResponse(responses as never, key)
  if (response.kind === 'missing') return undefined
  if (question && response.kind !== KIND_OF_ANSWER[question.kind ?? 'person']) return refusalIn(response)
  if (response.kind === 'roots') return { action: 'accept', content: { roots: response.roots } }
  if (response.kind === 'sampling') return { action: 'accept', content: { ...response.result } }
  const { action, content } = response
  return content === undefined ? { action } : { action, content }
}

/** A refusal comes in the form of an elicitation result, whatever was asked. */
function refusalIn(response: InputResponseView): Answer | undefined {
  return response.kind === 'elicit' && response.action !== 'accept' ? { action: response.action } : undefined
}

/** Throws `ANSWER_UNAVAILABLE` where the client cannot get an answer; the call would wait forever. */
function refuseUnanswerable(question: Question, client: ClientCapabilities): void {
  const isForTools = question.kind === 'model' && usesTools(question)
  if (canAnswer(question.kind ?? 'person', client) && (!isForTools || client.sampling?.tools)) return
  const { name, capabilities } = required(question)
  const message = `The client cannot answer this, because it does not declare ${name}: "${questionText(question)}"`
  throw new AppError('ANSWER_UNAVAILABLE', message, { details: { requiredCapabilities: capabilities } })
}

function canAnswer(kind: QuestionKind, { roots, sampling, elicitation }: ClientCapabilities): boolean {
  if (kind === 'roots') return roots !== undefined
  if (kind === 'model') return sampling !== undefined
  if (!elicitation) return false
  // A client that names modes has only those; a client that names none has forms.
  return kind === 'url' ? 'url' in elicitation : 'form' in elicitation || !('url' in elicitation)
}

function usesTools({ tools, toolChoice }: ModelQuestion): boolean {
  return tools !== undefined || toolChoice !== undefined
}

function required(question: Question): { name: string; capabilities: ClientCapabilities } {
  const { kind } = question
  if (kind === 'roots') return { name: 'roots', capabilities: { roots: {} } }
  if (kind === 'model' && usesTools(question))
    return { name: 'sampling.tools', capabilities: { sampling: { tools: {} } } }
  if (kind === 'model') return { name: 'sampling', capabilities: { sampling: {} } }
  if (kind === 'url') return { name: 'elicitation.url', capabilities: { elicitation: { url: {} } } }
  return { name: 'elicitation', capabilities: { elicitation: {} } }
}
