import { type Redact, redactedJson } from '../../../core/secrets/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { MOST_SAID } from '../../http-client/index.ts'
import type { Message, Response } from '../../mcp-wire/index.ts'
import {
  type Channel,
  type ChannelEnd,
  type ChannelEvents,
  ChannelFailure,
  type OpenChannel,
  SendFailure,
  toRpcError,
} from '../peer/channel.ts'
import { MESSAGE_LIMITS, sizeExcess } from '../peer/message-limits.ts'
import type { Masks } from './child-log.ts'

/**
 * A channel that masks our secrets where the server speaks about itself: in errors, log lines and the reason of its
 * end. All else passes unchanged; a tool's answer is not ours to change.
 */
export function maskedChannel(open: OpenChannel, masks: Masks): OpenChannel {
  return async (events, signal) => {
    const channel = await open(maskedEvents(events, masks), signal).catch(error => {
      throw error instanceof ChannelFailure
        ? new ChannelFailure(maskedEnd(error.end, masks), { cause: error.cause })
        : error
    })
    return { ...channel, send: (...given) => channel.send(...given).catch(maskedRejection(masks)) } satisfies Channel
  }
}

/** All events are named instead of spread: for each new one it has to be decided whether it may contain a secret. */
function maskedEvents(events: ChannelEvents, masks: Masks): Required<ChannelEvents> {
  const { onMessage, onPart, onEnd, onLost, onBroken, onMissed } = events
  return {
    onMessage: (message, of) => onMessage(maskedMessage(message, masks), of),
    onPart: () => onPart?.(),
    onEnd: end => onEnd(maskedEnd(end, masks)),
    onLost: (id, reason) => onLost?.(id, masks.redact(reason)),
    onBroken: () => onBroken?.(),
    onMissed: () => onMissed?.(),
  }
}

function maskedMessage(message: Message, masks: Masks): Message {
  if ('error' in message && message.error) return { ...message, error: maskedError(message.error, masks) }
  if (!('method' in message) || message.method !== 'notifications/message' || !message.params) return message
  return { ...message, params: maskedValue(message.params, masks.redact) }
}

function maskedEnd(end: ChannelEnd, masks: Masks): ChannelEnd {
  return { ...end, reason: masks.redact(end.reason), said: maskedWords(end.said, masks) }
}

function maskedRejection(masks: Masks): (error: unknown) => never {
  return error => {
    if (!(error instanceof SendFailure)) throw error
    const { message, said } = error
    throw error.with({ message: masks.redact(message), said: maskedWords(said, masks) })
  }
}

/** Some arrive in full: in a shortened text part of a secret would not be recognised. */
function maskedWords(said: string | undefined, { redact }: Masks): string | undefined {
  return said === undefined ? undefined : excerptOf(redact(said), MOST_SAID)
}

type WireError = NonNullable<Response['error']>

const { errorMessageCharacters: MOST_RPC_TEXT, errorCharacters: MOST } = MESSAGE_LIMITS

/**
 * An error without our secrets, and no longer than anyone reads: it is stored with the operation and written several
 * times on its way to the client. A short error stays unchanged.
 */
function maskedError(error: WireError, masks: Masks): WireError {
  if (!isShort(error)) return shortened(error, masks)
  const masked = maskedValue(error, masks.redact)
  // A secret with the digits of an error code does not change the code.
  return masked === error || typeof error.code !== 'number' ? masked : { ...masked, code: error.code }
}

function isShort(error: WireError): boolean {
  const { message } = error
  if (typeof message === 'string' && message.length > MOST_RPC_TEXT) return false
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
  const { text, isWhole } = redactStart(message, MOST_RPC_TEXT)
  return isWhole ? text : `${text}… (${Math.max(1, message.length - text.length)} more characters are left out)`
}

/** The same value where there is nothing to mask, as nearly always. */
function maskedValue<T>(value: T, redact: Redact): T {
  const text = JSON.stringify(value)
  // A masked number becomes a text. Masked values are mostly read by people.
  return redact(text) === text ? value : (redactedJson(text, redact) as T)
}
