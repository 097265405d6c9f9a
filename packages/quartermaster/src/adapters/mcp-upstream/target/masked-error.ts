import type { Redact } from '../../../core/kernel/index.ts'
import type { Response } from '../../mcp-wire/index.ts'
import { MESSAGE_LIMITS } from '../session/message-limits.ts'
import { sizeExcess } from '../session/message-size.ts'
import { toRpcError } from '../session/rpc-error.ts'
import { maskedValue } from './masked-value.ts'

type WireError = NonNullable<Response['error']>

const { errorMessageCharacters: MOST_SAID, errorCharacters: MOST } = MESSAGE_LIMITS

/**
 * An error of a server without a secret of ours, and no longer than anybody reads: it is kept with the operation and written
 * several times on its way to the client. What is of a usual size stays as it is.
 */
export function maskedError(error: WireError, redact: Redact): WireError {
  return isShort(error) ? maskedValue(error, redact) : shortened(error, redact)
}

function isShort(error: WireError): boolean {
  const { message } = error
  if (typeof message === 'string' && message.length > MOST_SAID) return false
  return sizeExcess(error, { characters: MOST, values: MOST }) === undefined
}

function shortened(error: WireError, redact: Redact): WireError {
  const { code, message, data } = toRpcError(error)
  const said = begunMessage(message, redact)
  if (data === undefined) return { code, message: said }
  const excess = sizeExcess(data, { characters: MOST, values: MOST })
  if (excess) return { code, message: `${said} (its data is left out: ${excess})` }
  return { code, message: said, data: maskedValue(data, redact) }
}

function begunMessage(message: string, redact: Redact): string {
  // Masked before it is cut, so that no beginning of a secret is left at the end, and twice as much as is kept: of the rest, nothing
  // is looked at. A secret at the end of that is cut in two as well, so that as much as one can have is taken from there.
  const isLooked = message.length <= 2 * MOST_SAID
  const masked = redact(message.slice(0, 2 * MOST_SAID))
  if (isLooked && masked.length <= MOST_SAID) return masked
  const kept = isLooked ? MOST_SAID : Math.max(0, Math.min(MOST_SAID, masked.length - MOST_SAID))
  const begun = masked.slice(0, kept).replace(/[\ud800-\udbff]$/, '')
  return `${begun}… (${Math.max(1, message.length - kept)} more characters are left out)`
}
