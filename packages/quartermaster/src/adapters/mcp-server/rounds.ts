import { createHash } from 'node:crypto'
import { type InputRequiredResult, inputRequired } from '@modelcontextprotocol/server'
import { AppError, type Progress, type Question, type QuestionKind } from '../../contracts/index.ts'
import { type CancelSignal, canonicalJson } from '../../core/kernel/index.ts'
import type { Asked, Audience, Exchange, ExchangeContext, Exchanges } from '../../core/operations/index.ts'
import { clientOf, hasGone, type McpRequest } from './mcp-request.ts'
import { canAnswer, refuseUnanswerable, toAnswers, toEarlyAnswers, toInputRequests } from './questions.ts'
import type { CarriedState } from './states.ts'

/** One piece of work that may take several rounds of requests. */
export interface RoundWork<T> {
  /** Who asked for what; only an equal request goes on with it. Made when it is needed: most work asks nothing. */
  owner(): string
  begin(context: RoundContext): Promise<T>
}

/** What work is given, which client it is for, and what that can answer. */
export interface RoundContext extends ExchangeContext {
  readonly client: string | undefined
  canAnswer(kind: QuestionKind): boolean
}

/** What the client is told at the end of a round: the answer, or what it has to find out first. */
export type RoundEnd<T> = { readonly answer: T } | { readonly required: InputRequiredResult }

/** One round from beginning to end. */
export async function takeRound<T>(
  exchanges: Exchanges,
  work: RoundWork<T>,
  request: McpRequest,
): Promise<RoundEnd<T>> {
  const exchange = enterExchange(exchanges, work, request)
  const turn = await exchange.turn(request.signal, audienceOf(request))
  if ('answer' in turn) return turn
  return { required: await askClient(exchanges, { exchange, questions: turn.questions, work, request }) }
}

/** Starts the work, or goes on with what the client was asked about before. */
export function enterExchange<T>(exchanges: Exchanges, work: RoundWork<T>, request: McpRequest): Exchange<T> {
  if (request.state) {
    const { exchangeId, round } = request.state
    const { inputResponses } = request
    const said = new Map(
      Object.entries(inputResponses).map(([key, response]) => [key, ownerOf(canonicalJson(response))]),
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
        isHeard: context.isHeard,
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
  readonly exchange: Exchange<T>
  readonly questions: ReadonlyMap<string, Question>
  readonly work: RoundWork<T>
  readonly request: McpRequest
}

/** Keeps what waits for answers, and tells the client what it has to find out first. */
export async function askClient<T>(
  exchanges: Exchanges,
  { exchange, questions, work, request }: OpenRound<T>,
): Promise<InputRequiredResult> {
  const asked = exchanges.park(exchange, { owner: work.owner(), holder: request.holder ?? LOCAL })
  // Before 2026-07-28 the request stays open while its client is asked, however often, and cancelling it cancels the work.
  if (!request.isModern && !request.state) cancelWith(request.signal, exchange)
  exchange.show(questions)
  const operationId = exchange.operationId()
  const known = operationId === undefined ? {} : { operationId, ...consentIn(questions, operationId, asked) }
  const requestState = await request.sign({ exchangeId: exchange.id(), round: asked.round, ...known })
  const required = inputRequired({ inputRequests: toInputRequests(questions, request), requestState })
  if (operationId === undefined) return required
  return { ...required, _meta: { ...required._meta, 'quartermaster/operationId': operationId } }
}

/** The question among these that asks for consent to the call itself, and not to one inside it. */
function consentIn(
  questions: ReadonlyMap<string, Question>,
  operationId: string,
  { askedAt }: Asked,
): Pick<CarriedState, 'consent'> {
  const [key] = [...questions].find(([, one]) => 'consentFor' in one && one.consentFor === operationId) ?? []
  return key === undefined ? {} : { consent: { key, askedAt } }
}

/** Clients inside this process share one credential: none. */
const LOCAL = 'in process'

function cancelWith(signal: CancelSignal, exchange: Exchange<unknown>): void {
  const cancel = () => {
    exchange.leave()
    exchange.cancel(new AppError('CANCELLED', 'The client cancelled the request.'))
  }
  if (signal.aborted) return cancel()
  signal.addEventListener('abort', cancel, { once: true })
  const leave = () => signal.removeEventListener('abort', cancel)
  exchange.done.then(leave, leave)
}

/** A short text for a long one: what was asked for may be megabytes, and is kept for as long as a person thinks. */
export function ownerOf(...parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('base64url')
}

/** The client, as far as it wants to hear of what happens on the way. */
export function audienceOf(request: McpRequest): Audience {
  const { progressToken } = request.meta
  const onProgress = (progress: Progress) => request.notify('notifications/progress', { progressToken, ...progress })
  return {
    onProgress: progressToken === undefined ? undefined : onProgress,
    isGone: () => hasGone(request),
    onLog: (level, message, fields) => request.log(level, fields === undefined ? message : { message, ...fields }),
  }
}
