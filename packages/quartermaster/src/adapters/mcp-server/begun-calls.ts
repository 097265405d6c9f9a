import type { ServerContext } from '@modelcontextprotocol/server'
import type { ToolCallResult } from './tool-calls.ts'

/** A call that has come as far as a question. */
export interface BegunCall {
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
