import type { IncomingHttpHeaders } from 'node:http'
import type { CancelSignal } from '../../core/kernel/index.ts'
import type { PlainAnswer } from './plain-answer.ts'

/** An endpoint that takes whole requests, whatever their method. */
export interface Mount {
  /** `/mcp` */
  path: `/${string}`
  /** Answers; the signal is given when the client has gone before it got all of it. */
  handle(request: Request, gone: CancelSignal): Promise<Response | PlainAnswer>
  /** What of it needs no `Request`. */
  short?: ShortMount
}

/** A request that is there as a whole. */
export interface WholeRequest {
  readonly headers: IncomingHttpHeaders
  readonly body: Uint8Array
}

/**
 * What an endpoint answers without a `Request`, a router and a `Response`, which together cost more than a small call. The
 * application serves whatever is not taken here, and refuses whatever is to be refused.
 */
export interface ShortMount {
  /** Whether a request is worth reading, by its headers alone. */
  isFor(headers: IncomingHttpHeaders): boolean
  /** The answer, or nothing when the request is one for the application. */
  answer(request: WholeRequest, gone: CancelSignal): Promise<Response | PlainAnswer> | undefined
}
