import type { ServerContext } from '@modelcontextprotocol/server'
import type { AgentSession } from '../../core/agents/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import type { Elicitations, KeptResults, Operations, Readings } from '../../core/operations/index.ts'
import type { StateSigner } from './mcp-request.ts'
import type { OperationNotifications, Watches } from './subscriptions.ts'
import type { Tasks } from './tasks.ts'
import type { ToolCallResult, ToolCalls } from './tool-calls.ts'

/** The shared parts of every MCP server, in process or over HTTP. */
export interface ServerParts {
  readonly toolCalls: ToolCalls
  readonly tasks: Tasks
  readonly exchanges: Elicitations
  readonly results: KeptResults
  readonly readings: Readings
  readonly version: string
  /** Instructions for a client that connects; never rejects, and is called once per session. */
  instructionsFor?(session: AgentSession): Promise<string>
  beforeList?(session: AgentSession): Promise<void> | undefined
  readonly stateSigner: StateSigner
  readonly watches: Watches
  readonly operationNotifications: OperationNotifications
  readonly log: Log
  readonly operations: Pick<Operations, 'show' | 'list'>
  /** Calls handed over to the SDK, where the direct path exists. */
  readonly handovers?: Pick<CallHandovers, 'take'>
  clientGone?(client: string): Promise<void>
}

interface HandedOverCall {
  readonly result: ToolCallResult
  cancel(reason: unknown): void
}

/**
 * Calls that started on the direct path and continue in the SDK, which can ask legacy clients questions. The key is the
 * `Request` object itself: request ids are chosen by clients and may repeat.
 */
export interface CallHandovers {
  handOver(request: Request, call: HandedOverCall): void
  /** Takes a call once; when the client comes back with answers, its request is handled like any other. */
  take(context: ServerContext): ToolCallResult | undefined
}

export function createCallHandovers(): CallHandovers {
  const calls = new WeakMap<Request, HandedOverCall>()
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
