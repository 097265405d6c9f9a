import {
  type InputRequest,
  type InputRequiredResult,
  inputResponse,
  isInputRequiredResult,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { AppError } from '../../contracts/index.ts'
import { throwIfCancelled } from '../../core/kernel/index.ts'
import { ANSWER_SECONDS, MOST_ROUNDS } from '../../core/operations/index.ts'
import type { McpRequest } from './mcp-request.ts'
import type { ServerParts } from './server-parts.ts'

interface OpenRequest<T> {
  readonly context: ServerContext
  readonly request: McpRequest
  /** Continues the request with the client's state and answers. */
  continueWith(request: McpRequest): Promise<T>
}

type Parts = Pick<ServerParts, 'stateSigner' | 'exchanges' | 'log'>

/** Longer than any caller waits for an answer: the question is withdrawn first. */
const QUESTION_TIMEOUT_MS = 2 * ANSWER_SECONDS * 1000

const MAX_LOGGED_ERROR = 200

/**
 * Asks a legacy client the questions of its request while the request stays open, until there is a result. The SDK does the
 * same, but fails the request when a client does not answer and leaves the asking work waiting. Modern clients repeat the request.
 */
export async function askDuringRequest<T>(first: T, open: OpenRequest<T>, parts: Parts): Promise<T> {
  const { context, request, continueWith } = open
  let result = first
  for (let round = 1; !request.isModern && isInputRequiredResult(result); round++) {
    const { inputRequests = {}, requestState = '' } = result as InputRequiredResult
    const state = await parts.stateSigner.verify(requestState, context)
    // Cancelled work asks no more questions and returns how it ended.
    if (round > MOST_ROUNDS) parts.exchanges.cancel(state.exchangeId, askedTooOften())
    const asked = Object.entries(inputRequests).map(async ([key, one]) => {
      const closed = parts.exchanges.closed(state.exchangeId, key)
      return [
        key,
        round > MOST_ROUNDS ? refusalOf(one) : await askClient(one, { context, closed, log: parts.log }),
      ] as const
    })
    const inputResponses = Object.fromEntries(await Promise.all(asked))
    throwIfCancelled(request.signal)
    result = await continueWith({ ...request, state, inputResponses })
  }
  return result
}

function askedTooOften(): AppError {
  return new AppError('ANSWER_UNAVAILABLE', `It asked in more than ${MOST_ROUNDS} rounds in one request.`)
}

/** The client's answer. A failure, an invalid answer and a disconnect count as a refusal. */
async function askClient(
  asked: InputRequest,
  { context, closed, log }: { context: ServerContext; closed: Promise<void>; log: ServerParts['log'] },
): Promise<unknown> {
  const { mcpReq, http } = context
  const over = new AbortController()
  const disconnected = http?.req?.signal
  const signal = AbortSignal.any([over.signal, mcpReq.signal, ...(disconnected ? [disconnected] : [])])
  // Withdrawing also tells the client; its later answer belongs to no question.
  void closed.then(() => over.abort('The question was withdrawn.'))
  try {
    const { method, params } = asked
    const message = params === undefined ? { method } : { method, params }
    const answer = await mcpReq.send(message as never, { signal, timeout: QUESTION_TIMEOUT_MS })
    if (isAnswerTo(asked, answer)) return answer
    log.info('a client answered something else than it was asked', { method })
  } catch (error) {
    if (!signal.aborted)
      log.info('a client did not answer what it was asked', {
        method: asked.method,
        error: String(error).slice(0, MAX_LOGGED_ERROR),
      })
  }
  return refusalOf(asked)
}

const KINDS = { 'elicitation/create': 'elicit', 'sampling/createMessage': 'sampling', 'roots/list': 'roots' } as const

function isAnswerTo({ method }: InputRequest, answer: unknown): boolean {
  return inputResponse({ answer } as never, 'answer').kind === KINDS[method]
}

/** A form that was not filled in decides nothing; a model and folders are declined. */
function refusalOf({ method }: InputRequest): { action: 'cancel' | 'decline' } {
  return { action: method === 'elicitation/create' ? 'cancel' : 'decline' }
}
