import { isInputRequiredResult, type RequestId, type Server, type ServerContext } from '@modelcontextprotocol/server'
import type { Exchanges } from '../../core/operations/index.ts'
import { isModern } from './mcp-request.ts'
import type { StateSigner } from './states.ts'

/**
 * Takes back what a client from before 2026-07-28 is being asked, when the work that asked is over or has taken it back. Its
 * request stays open meanwhile, and would otherwise be answered only when its person has answered what nobody wants to know
 * any more.
 */
export interface Withdrawals {
  /** Hands on what a handler gave. */
  follow<T>(result: T, context: ServerContext): Promise<T>
}

export interface WithdrawalsDeps {
  readonly states: StateSigner
  readonly exchanges: Pick<Exchanges, 'closed'>
}

type Send = (message: { readonly method: string }, ...rest: readonly unknown[]) => Promise<unknown>

interface SendOptions {
  readonly relatedRequestId?: RequestId
  readonly signal?: AbortSignal
}

/** One question to a client. */
interface Leg {
  readonly method: string
  /** Resolves when it is not asked any more. */
  readonly closed: Promise<void>
}

/** The SDK asks with the server's own `request`, and goes on with whatever comes of that: a withdrawal has to look like an answer. */
export function createWithdrawals(server: Server, { states, exchanges }: WithdrawalsDeps): Withdrawals {
  /** What is going to be asked on behalf of a request, in this order of each kind. */
  const asked = new Map<RequestId, Leg[]>()
  const send = server.request.bind(server) as unknown as Send
  const request: Send = (message, ...rest) => {
    const options = (rest.at(-1) ?? {}) as SendOptions
    const legs = options.relatedRequestId === undefined ? undefined : asked.get(options.relatedRequestId)
    const leg = legs?.find(({ method }) => method === message.method)
    if (!legs || !leg) return send(message, ...rest)
    legs.splice(legs.indexOf(leg), 1)
    return until(leg.closed, options, signal => send(message, ...rest.slice(0, -1), { ...options, signal }))
  }
  server.request = request as unknown as Server['request']

  return {
    async follow(result, context) {
      if (isModern(context) || !isInputRequiredResult(result) || result.requestState === undefined) return result
      const { exchangeId } = await states.verify(result.requestState, context)
      const { id } = context.mcpReq
      const legs = Object.entries(result.inputRequests ?? {}).map(([key, { method }]) => ({
        method,
        closed: exchanges.closed(exchangeId, key),
      }))
      asked.set(id, legs)
      void Promise.all(legs.map(({ closed }) => closed)).then(() => asked.get(id) === legs && asked.delete(id))
      return result
    },
  }
}

/** What is not asked any more takes no answer, so what is said here is read by nobody. */
const WITHDRAWN = { action: 'cancel' }

async function until(
  closed: Promise<void>,
  { signal }: SendOptions,
  ask: (signal: AbortSignal) => Promise<unknown>,
): Promise<unknown> {
  const controller = new AbortController()
  const abort = () => controller.abort(signal?.reason)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort, { once: true })
  try {
    const answer = await Promise.race([ask(controller.signal), closed.then(() => WITHDRAWN)])
    // Tells the client that nobody waits for its answer any more.
    if (answer === WITHDRAWN) controller.abort('Nobody wants to know this any more.')
    return answer
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}
