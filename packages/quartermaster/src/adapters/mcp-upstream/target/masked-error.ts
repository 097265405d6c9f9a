import type { Response } from '../../mcp-wire/index.ts'
import { MESSAGE_LIMITS } from '../session/message-limits.ts'
import { sizeExcess } from '../session/message-size.ts'
import { toRpcError } from '../session/rpc-error.ts'
import type { Masks } from '../stdio/child-log.ts'
import { maskedValue } from './masked-value.ts'

type WireError = NonNullable<Response['error']>

const { errorMessageCharacters: MOST_SAID, errorCharacters: MOST } = MESSAGE_LIMITS

/**
 * An error of a server without a secret of ours, and no longer than anybody reads: it is kept with the operation and written
 * several times on its way to the client. What is of a usual size stays as it is.
 */
export function maskedError(error: WireError, masks: Masks): WireError {
  if (!isShort(error)) return shortened(error, masks)
  const masked = maskedValue(error, masks.redact)
  // What a number means that is a code, a secret of the same digits does not change.
  return masked === error || typeof error.code !== 'number' ? masked : { ...masked, code: error.code }
}

function isShort(error: WireError): boolean {
  const { message } = error
  if (typeof message === 'string' && message.length > MOST_SAID) return false
  return sizeExcess(error, { characters: MOST, values: MOST }) === undefined
}

function shortened(error: WireError, masks: Masks): WireError {
  const { code, message, data } = toRpcError(error)
  const said = begunMessage(message, masks)
  if (data === undefined) return { code, message: said }
  const excess = sizeExcess(data, { characters: MOST, values: MOST })
  if (excess) return { code, message: `${said} (its data is left out: ${excess})` }
  return { code, message: said, data: maskedValue(data, masks.redact) }
}

function begunMessage(message: string, { redactStart }: Masks): string {
  const { text, isWhole } = redactStart(message, MOST_SAID)
  return isWhole ? text : `${text}… (${Math.max(1, message.length - text.length)} more characters are left out)`
}
