import { excerptOf } from '../../../core/upstreams/index.ts'
import { MOST_SAID } from '../../http-client/index.ts'
import type { Message } from '../../mcp-wire/index.ts'
import {
  type Channel,
  type ChannelEnd,
  type ChannelEvents,
  ChannelFailure,
  type OpenChannel,
  SendFailure,
} from '../session/channel.ts'
import type { Masks } from '../stdio/child-log.ts'
import { maskedError } from './masked-error.ts'
import { maskedValue } from './masked-value.ts'

/**
 * A way to a server that tells no secret of ours where the server speaks about itself: in its errors, in the lines of its
 * log, in how it ends. Everything else passes as it is; what a tool answers is not ours to change.
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

/** All of them are named, and not passed by being spread: whether a new one tells a secret is to be decided here. */
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

/** Some come as they were said: in what is shortened already nobody would know a part of a secret. */
function maskedWords(said: string | undefined, { redact }: Masks): string | undefined {
  return said === undefined ? undefined : excerptOf(redact(said), MOST_SAID)
}
