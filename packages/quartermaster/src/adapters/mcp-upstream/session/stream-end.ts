import { messageOf } from '../../../contracts/index.ts'
import { isRecord } from '../../mcp-wire/index.ts'
import type { AddressRefusal } from './asked-addresses.ts'
import { SendFailure } from './channel.ts'
import { RPC, RpcError } from './rpc-error.ts'

/**
 * How a stream of changes ended. `refused`: for what it asked for. `notNow`: for that, for one stream too many, or for a bad
 * moment; servers say each of these with any code. `broken`: it may be over in a moment, or the server is gone, and the line ends
 * by itself.
 */
export interface StreamEnd extends AddressRefusal {
  readonly kind: 'refused' | 'notNow' | 'broken'
  /** Whether it may have been open until then. */
  readonly wasOpen?: boolean
  /** For how long it asks to be left alone. */
  readonly retryAfterMs?: number | undefined
}

/** It ended the stream by itself. */
export const ENDED: StreamEnd = { kind: 'broken', reason: 'It ended the stream.', isForNow: true, wasOpen: true }
/** There is no end at all, nor an acknowledgement. */
export const UNANSWERED: StreamEnd = { kind: 'notNow', reason: 'It did not answer.', isForNow: true }

/** One that answers so would answer the same again: it does not do this, or has no such address. */
const REFUSALS: ReadonlySet<number> = new Set([RPC.methodNotFound, RPC.invalidParams, RPC.resourceNotFound])

/** What servers say by HTTP to what they cannot make anything of, and no proxy that cannot reach one. */
const NO: ReadonlySet<number> = new Set([400, 404, 409, 422, 500])

export function toStreamEnd(error: unknown): StreamEnd {
  if (!(error instanceof RpcError)) {
    const { status = 200, wasSent, retryAfterMs } = error instanceof SendFailure ? error : {}
    // Anything but a clear no may be over in a moment.
    const kind = NO.has(status) ? 'notNow' : 'broken'
    const wasOpen = wasSent === 'maybe' && status < 300
    return { kind, reason: messageOf(error), isForNow: true, wasOpen, retryAfterMs }
  }
  const { code, message, data } = error
  // Of a resource that is not there the address is given.
  const uri = isRecord(data) && typeof data.uri === 'string' ? data.uri : undefined
  const isRefusal = REFUSALS.has(code)
  // Whoever does not know the method is perhaps another version of itself, and not for long. It is no word about an address.
  const isForNow = !isRefusal || code === RPC.methodNotFound
  return { kind: isRefusal ? 'refused' : 'notNow', reason: message, uri, isForNow }
}
