import { inTurns, jsonInSteps } from '../../../core/kernel/index.ts'
import { type Message, messagesFrom, parseMessages } from '../../mcp-wire/index.ts'
import { EVENT_LOOP } from '../event-loop.ts'
import { isExcessive, MESSAGE_LIMITS } from './message-limits.ts'

/** To parse as much as this takes a few milliseconds; a hundred thousand tools take a second, in which nobody else would be served. */
const AT_ONCE = 512 * 1024

/**
 * Hands over the messages in a text that a server sent: none where it is not one, or is more than one may send. At once, unless the
 * text is long; then others have their turn meanwhile.
 */
export function takeMessages(text: string, take: (messages: Message[]) => void): undefined | Promise<void> {
  if (text.length > AT_ONCE) return takeInTurns(text, take)
  take(fewMessages(isExcessive(text) ? [] : parseMessages(text)))
  return undefined
}

async function takeInTurns(text: string, take: (messages: Message[]) => void): Promise<void> {
  // What is no JSON, or too much of it, is no message.
  const value = await inTurns(jsonInSteps(text, MESSAGE_LIMITS), EVENT_LOOP).catch(() => undefined)
  take(fewMessages(messagesFrom(value)))
}

function fewMessages(messages: Message[]): Message[] {
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
