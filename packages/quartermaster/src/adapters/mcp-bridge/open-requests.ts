import { keyOf, type Request } from '../mcp-wire/index.ts'
import type { SendTerms } from './tool-facts.ts'

/** A request that waits for its answer. */
export interface OpenRequest {
  isSent: boolean
  isCancelled: boolean
  /** How it is sent, from its first try on. */
  terms?: SendTerms
  /** Ends its connection. */
  readonly controller: AbortController
}

/** The requests of a client that wait for their answers. */
export interface OpenRequests {
  /** It waits for as long as the work takes. */
  during(request: Request, work: (open: OpenRequest) => Promise<void>): Promise<void>
  find(id: unknown): OpenRequest | undefined
}

/** None of them has a connection once the signal aborts. */
export function createOpenRequests(closing: AbortSignal): OpenRequests {
  const requests = new Map<string, OpenRequest>()
  closing.addEventListener('abort', () => {
    for (const { controller } of requests.values()) controller.abort()
  })
  return {
    async during({ id }, work) {
      const open: OpenRequest = { isSent: false, isCancelled: false, controller: new AbortController() }
      requests.set(keyOf(id), open)
      try {
        await work(open)
      } finally {
        // A client that uses an id twice has another one open by now.
        if (requests.get(keyOf(id)) === open) requests.delete(keyOf(id))
      }
    },
    find: id => requests.get(keyOf(id)),
  }
}
