import { excerptOf } from '../../../core/upstreams/index.ts'
import {
  type Id,
  isRecord,
  isRequest,
  isResponse,
  type Message,
  type Notification,
  type Request,
} from '../../mcp-wire/index.ts'
import { type OpenChannel, RPC, SendFailure } from '../peer/channel.ts'
import { ownLimits, sizeExcess } from '../peer/message-limits.ts'
import { isWaitedFor } from '../peer/questions.ts'
import type { ChildLog } from './child-log.ts'

/**
 * A channel that limits unrequested messages: they are read, stored and masked in one go. Answers pass unchanged; their
 * callers want them.
 */
export function boundedChannel(open: OpenChannel, log: Pick<ChildLog, 'add' | 'redactStart'>): OpenChannel {
  return (events, signal) => {
    const told = new Set<'asked' | 'said'>()
    const opened = open({ ...events, onMessage }, signal)

    function onMessage(message: Message, of: Id | undefined): void {
      const excess = excessIn(message)
      if (excess === undefined || isResponse(message)) return events.onMessage(message, of)
      // The server is there, and sends.
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

    /** The server would wait for ever, and with it the call behind it. */
    async function refuse(request: Request, excess: string, of: Id | undefined): Promise<void> {
      const { id } = request
      if (typeof id === 'string' && id.length > LONGEST_ID) return
      const error = { code: RPC.invalidParams, message: `This is not taken: ${excess}.` }
      await opened
        .then(channel => channel.send({ jsonrpc: '2.0', id, error }))
        .catch(async why => {
          // It asked and left; only the call that would wait for the server has to be told.
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
/** A longer id is invalid, and would be sent back. */
const LONGEST_ID = 1_024

/** Whether a call waits for the answer to this, and the server certainly has none. */
function isStuck({ method, params }: Request, why: unknown): why is SendFailure {
  return why instanceof SendFailure && why.wasSent !== 'maybe' && isWaitedFor(method, isRecord(params) ? params : {})
}

function excessIn(message: Message): string | undefined {
  return isResponse(message) ? undefined : sizeExcess(message, ownLimits(message.method))
}
