import type { ServerContext } from '@modelcontextprotocol/server'
import type { AgentSession } from '../../core/agents/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import type { Elicitations, KeptResults, Operations, Readings } from '../../core/operations/index.ts'
import type { StateSigner } from './request-state.ts'
import type { OperationNotifications, Watches } from './subscriptions.ts'
import type { Tasks } from './tasks.ts'
import type { ToolCallResult, ToolCalls } from './tool-calls.ts'

/** What every server of ours needs, whatever it is reached by. */
export interface ServerParts {
  readonly toolCalls: ToolCalls
  readonly tasks: Tasks
  readonly exchanges: Elicitations
  readonly results: KeptResults
  readonly readings: Readings
  readonly version: string
  /** What a client is told about its agent when it begins; never fails, and is asked once for each session. */
  instructionsFor?(session: AgentSession): Promise<string>
  /** What the first lists of an agent wait for; `undefined` where there is nothing. */
  beforeList?(session: AgentSession): Promise<void> | undefined
  readonly states: StateSigner
  readonly watches: Watches
  readonly endNews: OperationNotifications
  readonly log: Log
  readonly operations: Pick<Operations, 'show' | 'list'>
  /** Calls that go on in a server of the SDK, where there are such. */
  readonly begun?: Pick<BegunCalls, 'take'>
  /** Told that a client has gone for good, by what its calls have named it; never fails. */
  clientGone?(client: string): Promise<void>
}

/** A call that has come as far as a question. */
interface BegunCall {
  readonly result: ToolCallResult
  cancel(reason: unknown): void
}

/**
 * Calls that were begun outside the SDK and go on in it, because it knows how to ask clients from before 2026-07-28. Each
 * is found by the very request that it is handed over with: ids are the client's, and may occur twice.
 */
export interface BegunCalls {
  handOver(request: Request, call: BegunCall): void
  /** What a request was handed over with, once: when it comes back with answers, it goes on like any other. */
  take(context: ServerContext): ToolCallResult | undefined
}

export function createBegunCalls(): BegunCalls {
  const calls = new WeakMap<Request, BegunCall>()
  return {
    handOver: (request, call) => void calls.set(request, call),
    take({ http, mcpReq: { signal } }) {
      const call = http?.req && calls.get(http.req)
      if (!http?.req || !call) return undefined
      calls.delete(http.req)
      const cancel = () => call.cancel(signal.reason)
      if (signal.aborted) cancel()
      else signal.addEventListener('abort', cancel, { once: true })
      return call.result
    },
  }
}
