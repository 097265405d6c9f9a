import { type Message, parseMessages } from '../../mcp-wire/index.ts'
import { isExcessive, MESSAGE_LIMITS } from './message-limits.ts'

/** The messages in a text that a server sent. None where it is not one, or is more than one may send. */
export function messagesIn(text: string): Message[] {
  const messages = isExcessive(text) ? [] : parseMessages(text)
  return messages.length > MESSAGE_LIMITS.inBatch ? [] : messages
}

/** Hands messages over. One strange message must not end more than itself. */
export function guardMessages(
  onMessage: (message: Message) => void,
  log: (text: string) => void,
): (message: Message) => void {
  return message => {
    try {
      onMessage(message)
    } catch (error) {
      log(`A message from it could not be handled: ${String(error)}`)
    }
  }
}
