import { excerptOf } from '../../../core/upstreams/index.ts'
import { type Id, isRequest, isResponse, type Message, type Notification, type Request } from '../../mcp-wire/index.ts'
import type { OpenChannel } from '../session/channel.ts'
import { ownLimits } from '../session/message-limits.ts'
import { sizeExcess } from '../session/message-size.ts'
import { RPC } from '../session/rpc-error.ts'

/**
 * A way to a server that takes little of what the server says on its own: nobody has to call it for that, and what it says is read,
 * written and masked in one go. Answers pass as they are; those who called it want them. `log`: a line for people.
 */
export function boundedChannel(open: OpenChannel, log: (text: string) => void): OpenChannel {
  return (events, signal) => {
    const told = new Set<'asked' | 'said'>()
    const opened = open({ ...events, onMessage }, signal)

    function onMessage(message: Message, of: Id | undefined): void {
      const excess = excessIn(message)
      if (excess === undefined || isResponse(message)) return events.onMessage(message, of)
      // It is there, and speaks.
      events.onPart?.()
      tellOnce(message, excess)
      if (isRequest(message)) void refuse(message, excess)
    }

    function tellOnce(message: Request | Notification, excess: string): void {
      const kind = isRequest(message) ? 'asked' : 'said'
      if (told.has(kind)) return
      told.add(kind)
      const method = excerptOf(message.method, LONGEST_METHOD)
      log(`A message "${method}" of it is not taken: ${excess}. It is not said again of others.`)
    }

    /** It would wait for ever, and with it whoever called it. */
    async function refuse({ id }: Request, excess: string): Promise<void> {
      if (typeof id === 'string' && id.length > LONGEST_ID) return
      const error = { code: RPC.invalidParams, message: `This is not taken: ${excess}.` }
      await opened
        .then(channel => channel.send({ jsonrpc: '2.0', id, error }))
        .catch(() => {
          // It asked and left; there is nobody to tell.
        })
    }

    return opened
  }
}

const LONGEST_METHOD = 80
/** What is longer is no name of anything, and would be sent back. */
const LONGEST_ID = 1_024

function excessIn(message: Message): string | undefined {
  return isResponse(message) ? undefined : sizeExcess(message, ownLimits(message.method))
}
