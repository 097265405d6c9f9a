import { isInputRequiredResult, type RequestId, type Server, type ServerContext } from '@modelcontextprotocol/server'
import type { Exchanges } from '../../core/operations/index.ts'
import { isModern } from './mcp-request.ts'
import type { StateSigner } from './states.ts'

/**
 * Takes back what a client from before 2026-07-28 is being asked, when the work that asked is over. Its request stays open
 * meanwhile, and would otherwise be answered only when its person has answered what nobody wants to know any more.
 */
export interface Withdrawals {
  /** Hands on what a handler gave. */
  follow<T>(result: T, context: ServerContext): Promise<T>
}

export interface WithdrawalsDeps {
  readonly states: StateSigner
  readonly exchanges: Pick<Exchanges, 'over'>
}

type Send = (message: { readonly method: string }, ...rest: readonly unknown[]) => Promise<unknown>

interface SendOptions {
  readonly relatedRequestId?: RequestId
  readonly signal?: AbortSignal
}

/** The SDK asks with the server's own `request`, and goes on with whatever comes of that: a withdrawal has to look like an answer. */
export function createWithdrawals(server: Server, { states, exchanges }: WithdrawalsDeps): Withdrawals {
  /** When the work is over that asks on behalf of a request. */
  const asked = new Map<RequestId, Promise<void>>()
  const send = server.request.bind(server) as unknown as Send
  const request: Send = (message, ...rest) => {
    const options = (rest.at(-1) ?? {}) as SendOptions
    const over = options.relatedRequestId === undefined ? undefined : asked.get(options.relatedRequestId)
    if (!over) return send(message, ...rest)
    return until(over, options, signal => send(message, ...rest.slice(0, -1), { ...options, signal }))
  }
  server.request = request as unknown as Server['request']

  return {
    async follow(result, context) {
      if (isModern(context) || !isInputRequiredResult(result) || result.requestState === undefined) return result
      const { exchangeId } = await states.verify(result.requestState, context)
      const { id } = context.mcpReq
      const over = exchanges.over(exchangeId)
      asked.set(id, over)
      void over.then(() => asked.get(id) === over && asked.delete(id))
      return result
    },
  }
}

/** The work is asked again how it ended, so what is said here is read by nobody. */
const WITHDRAWN = { action: 'cancel' }

async function until(
  over: Promise<void>,
  { signal }: SendOptions,
  ask: (signal: AbortSignal) => Promise<unknown>,
): Promise<unknown> {
  const controller = new AbortController()
  const abort = () => controller.abort(signal?.reason)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort, { once: true })
  try {
    const answer = await Promise.race([ask(controller.signal), over.then(() => WITHDRAWN)])
    // Tells the client that nobody waits for its answer any more.
    if (answer === WITHDRAWN) controller.abort('What asked this is over.')
    return answer
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}
