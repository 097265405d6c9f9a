import { type Redact, redactedJson } from '../../../core/secrets/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { MOST_SAID } from '../../http-client/index.ts'
import {
  type Id,
  isRecord,
  isRequest,
  isResponse,
  type Message,
  type Notification,
  type Request,
  type Response,
} from '../../mcp-wire/index.ts'
import {
  type Channel,
  type ChannelEnd,
  type ChannelEvents,
  ChannelFailure,
  type OpenChannel,
  RPC,
  SendFailure,
  toRpcError,
} from '../peer/channel.ts'
import { MESSAGE_LIMITS, ownLimits, sizeExcess } from '../peer/incoming-message.ts'
import { needsPerson } from '../peer/questions.ts'
import type { ChildLog, Masks } from './child-log.ts'

/**
 * Limits unrequested messages, which are read, stored and masked in one go. Answers pass unchanged; their callers
 * want them.
 */
export function boundedChannel(open: OpenChannel, log: Pick<ChildLog, 'add' | 'redactStart'>): OpenChannel {
  return (events, signal) => {
    const told = new Set<'asked' | 'said'>()
    const opened = open({ ...events, onMessage }, signal)

    function onMessage(message: Message, of: Id | undefined): void {
      const excess = excessIn(message)
      if (excess === undefined || isResponse(message)) return events.onMessage(message, of)
      events.onPart?.()
      tellOnce(message, excess)
      if (isRequest(message)) void refuse(message, excess, of)
    }

    function tellOnce(message: Request | Notification, excess: string): void {
      const kind = isRequest(message) ? 'asked' : 'said'
      if (told.has(kind)) return
      told.add(kind)
      const method = excerptOf(log.redactStart(message.method, 2 * LONGEST_METHOD).text, LONGEST_METHOD)
      log.add('gateway', `A message "${method}" of it is not taken: ${excess}. It is not said again of others.`)
    }

    /** The server would wait for ever, and with it its call. */
    async function refuse(request: Request, excess: string, of: Id | undefined): Promise<void> {
      const { id } = request
      if (typeof id === 'string' && id.length > LONGEST_ID) return
      const error = { code: RPC.invalidParams, message: `This is not taken: ${excess}.` }
      await opened
        .then(channel => channel.send({ jsonrpc: '2.0', id, error }))
        .catch(async why => {
          // The server asked and left; only a call that would wait for it has to be told.
          if (of !== undefined && isStuck(request, why)) await giveUp(of, why)
        })
    }

    async function giveUp(requestId: Id, why: SendFailure): Promise<void> {
      events.onLost?.(requestId, `It asked something that is not taken, and could not be told so: ${why.message}`)
      const params = { requestId, reason: 'The caller cancelled.' }
      await opened
        .then(channel => channel.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }))
        .catch(() => {
          // A server that is gone has nothing to cancel.
        })
    }

    return opened
  }
}

const LONGEST_METHOD = 80
/** Longer ids are invalid, and would be sent back. */
const LONGEST_ID = 1_024

/** Whether a call waits for the answer, and the server certainly has none. */
function isStuck({ method, params }: Request, why: unknown): why is SendFailure {
  return why instanceof SendFailure && why.wasSent !== 'maybe' && needsPerson(method, isRecord(params) ? params : {})
}

function excessIn(message: Message): string | undefined {
  return isResponse(message) ? undefined : sizeExcess(message, ownLimits(message.method))
}

/**
 * Masks our secrets where the server speaks about itself: in errors, log lines and the reason of its end. A tool's
 * answer is not ours to change.
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

/** Named instead of spread: for each new event it has to be decided whether it may contain a secret. */
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

/** Masked before shortening: part of a secret would not be recognised. */
function maskedWords(said: string | undefined, { redact }: Masks): string | undefined {
  return said === undefined ? undefined : excerptOf(redact(said), MOST_SAID)
}

type WireError = NonNullable<Response['error']>

const { errorMessageCharacters: MOST_RPC_TEXT, errorCharacters: MOST } = MESSAGE_LIMITS

/**
 * An error without our secrets and of readable length: it is stored with the operation and written several times on
 * its way to the client.
 */
function maskedError(error: WireError, masks: Masks): WireError {
  if (!isShort(error)) return shortened(error, masks)
  const masked = maskedValue(error, masks.redact)
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

function maskedValue<T>(value: T, redact: Redact): T {
  const text = JSON.stringify(value)
  // A masked number becomes a text, which people read.
  return redact(text) === text ? value : (redactedJson(text, redact) as T)
}
