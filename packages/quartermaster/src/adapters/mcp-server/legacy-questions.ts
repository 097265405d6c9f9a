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

/** A request that may have to be gone on with. */
interface OpenRequest<T> {
  readonly context: ServerContext
  readonly request: McpRequest
  /** Goes on with it, with what its client carried and answered. */
  again(request: McpRequest): Promise<T>
}

type Parts = Pick<ServerParts, 'states' | 'exchanges' | 'log'>

/** Longer than any caller waits for an answer: the caller withdraws the question first. */
const UNTIL_TAKEN_BACK_MS = 2 * ANSWER_SECONDS * 1000

/** As much of a client's error as says what it is. */
const MOST_LOGGED = 200

/**
 * Asks a client from before 2026-07-28 what its request needs to know, and goes on until there is an answer: its request stays
 * open meanwhile. The SDK would do that too, but ends the request when a client fails to answer, and leaves the work waiting
 * that asked. Later clients come back by themselves.
 */
export async function askWhileOpen<T>(first: T, open: OpenRequest<T>, parts: Parts): Promise<T> {
  const { context, request, again } = open
  let result = first
  for (let round = 1; !request.isModern && isInputRequiredResult(result); round++) {
    const { inputRequests = {}, requestState = '' } = result as InputRequiredResult
    const state = await parts.states.verify(requestState, context)
    // Work that is over asks no further question, and answers how it ended.
    if (round > MOST_ROUNDS) parts.exchanges.cancel(state.exchangeId, askedTooOften())
    const asked = Object.entries(inputRequests).map(async ([key, one]) => {
      const closed = parts.exchanges.closed(state.exchangeId, key)
      return [key, round > MOST_ROUNDS ? noTo(one) : await askClient(one, { context, closed, log: parts.log })] as const
    })
    const inputResponses = Object.fromEntries(await Promise.all(asked))
    throwIfCancelled(request.signal)
    result = await again({ ...request, state, inputResponses })
  }
  return result
}

function askedTooOften(): AppError {
  return new AppError('ANSWER_UNAVAILABLE', `It asked in more than ${MOST_ROUNDS} rounds in one request.`)
}

interface Asking extends Pick<Parts, 'log'> {
  readonly context: ServerContext
  /** Resolves when it is not asked any more. */
  readonly closed: Promise<void>
}

/** What the client answers. Whatever keeps it from that is a no: an error, what is no answer, that it went away. */
async function askClient(asked: InputRequest, { context, closed, log }: Asking): Promise<unknown> {
  const { mcpReq, http } = context
  const over = new AbortController()
  const gone = http?.req?.signal
  const signal = AbortSignal.any([over.signal, mcpReq.signal, ...(gone ? [gone] : [])])
  // The client is told, too. What it says then is to nothing that is asked.
  void closed.then(() => over.abort('The question was withdrawn.'))
  try {
    const { method, params } = asked
    const message = params === undefined ? { method } : { method, params }
    const answer = await mcpReq.send(message as never, { signal, timeout: UNTIL_TAKEN_BACK_MS })
    if (isAnswerTo(asked, answer)) return answer
    log.info('a client answered something else than it was asked', { method })
  } catch (error) {
    if (!signal.aborted)
      log.info('a client did not answer what it was asked', {
        method: asked.method,
        error: String(error).slice(0, MOST_LOGGED),
      })
  }
  return noTo(asked)
}

const KINDS = { 'elicitation/create': 'elicit', 'sampling/createMessage': 'sampling', 'roots/list': 'roots' } as const

function isAnswerTo({ method }: InputRequest, answer: unknown): boolean {
  return inputResponse({ answer } as never, 'answer').kind === KINDS[method]
}

/** A form that was not filled in decides nothing; a model and folders are lent, or they are not. */
function noTo({ method }: InputRequest): { action: 'cancel' | 'decline' } {
  return { action: method === 'elicitation/create' ? 'cancel' : 'decline' }
}
