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
}

export const BROKEN: StreamEnd = { kind: 'broken', reason: '' }

/** One that answers so would answer the same again: it does not do this, or has no such address. */
const REFUSALS: ReadonlySet<number> = new Set([RPC.methodNotFound, RPC.invalidParams, RPC.resourceNotFound])

/** What servers say by HTTP to what they cannot make anything of, and no proxy that cannot reach one. */
const NO: ReadonlySet<number> = new Set([400, 404, 409, 422, 500])

export function toStreamEnd(error: unknown): StreamEnd {
  // Anything but a clear no may be over in a moment.
  if (error instanceof SendFailure && NO.has(error.status ?? 0))
    return { kind: 'notNow', reason: error.message, isForNow: true }
  if (!(error instanceof RpcError)) return BROKEN
  const { code, message, data } = error
  // Of a resource that is not there the address is given.
  const uri = isRecord(data) && typeof data.uri === 'string' ? data.uri : undefined
  const isRefusal = REFUSALS.has(code)
  return { kind: isRefusal ? 'refused' : 'notNow', reason: message, uri, isForNow: !isRefusal }
}
