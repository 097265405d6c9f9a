import type { Redact } from '../../../core/kernel/index.ts'
import type { Message } from '../../mcp-wire/index.ts'
import {
  type Channel,
  type ChannelEnd,
  type ChannelEvents,
  ChannelFailure,
  type OpenChannel,
  SendFailure,
} from '../session/channel.ts'
import { maskedError } from './masked-error.ts'
import { maskedValue } from './masked-value.ts'

/**
 * A way to a server that tells no secret of ours where the server speaks about itself: in its errors, in the lines of its
 * log, in how it ends. Everything else passes as it is; what a tool answers is not ours to change.
 */
export function maskedChannel(open: OpenChannel, redact: Redact): OpenChannel {
  return async (events, signal) => {
    const channel = await open(maskedEvents(events, redact), signal).catch(error => {
      throw error instanceof ChannelFailure
        ? new ChannelFailure(maskedEnd(error.end, redact), { cause: error.cause })
        : error
    })
    return { ...channel, send: (...given) => channel.send(...given).catch(maskedRejection(redact)) } satisfies Channel
  }
}

/** All of them are named, and not passed by being spread: whether a new one tells a secret is to be decided here. */
function maskedEvents(events: ChannelEvents, redact: Redact): Required<ChannelEvents> {
  const { onMessage, onPart, onEnd, onLost, onBroken, onMissed } = events
  return {
    onMessage: (message, of) => onMessage(maskedMessage(message, redact), of),
    onPart: () => onPart?.(),
    onEnd: end => onEnd(maskedEnd(end, redact)),
    onLost: (id, reason) => onLost?.(id, redact(reason)),
    onBroken: () => onBroken?.(),
    onMissed: () => onMissed?.(),
  }
}

function maskedMessage(message: Message, redact: Redact): Message {
  if ('error' in message && message.error) return { ...message, error: maskedError(message.error, redact) }
  if (!('method' in message) || message.method !== 'notifications/message' || !message.params) return message
  return { ...message, params: maskedValue(message.params, redact) }
}

function maskedEnd(end: ChannelEnd, redact: Redact): ChannelEnd {
  return { ...end, reason: redact(end.reason), said: end.said === undefined ? undefined : redact(end.said) }
}

function maskedRejection(redact: Redact): (error: unknown) => never {
  return error => {
    if (!(error instanceof SendFailure)) throw error
    const { message, said } = error
    throw error.with({ message: redact(message), said: said === undefined ? undefined : redact(said) })
  }
}
