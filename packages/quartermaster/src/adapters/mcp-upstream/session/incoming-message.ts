import { inTurns, jsonInSteps, type Steps } from '../../../core/kernel/index.ts'
import {
  type Id,
  isId,
  isRecord,
  isResponse,
  type LineEnds,
  type Message,
  messagesFrom,
  parseJson,
  type Response,
} from '../../mcp-wire/index.ts'
import { EVENT_LOOP } from '../event-loop.ts'
import type { ChannelEvents } from './channel.ts'
import { excessIn, MESSAGE_LIMITS } from './message-limits.ts'
import { refusedAnswer } from './unreadable-answer.ts'

/** To parse as much as this takes a few milliseconds; a hundred thousand tools take a second, in which nobody else would be served. */
const AT_ONCE = 512 * 1024

/** Takes the messages in a text. `excess`: what of it is more than one may send, in a sentence. */
export type TakeMessages = (messages: Message[], excess?: string) => void

/**
 * Hands over the messages in a text that a server sent: none where it is not one. An answer that is more than one may send is a
 * refused one. At once, unless the text is long; then others have their turn meanwhile. `asked`: what it can only be an answer to.
 */
export function takeMessages(text: string, take: TakeMessages, asked?: Id): undefined | Promise<void> {
  if (text.length > AT_ONCE) return takeInTurns(text, take, asked)
  const excess = excessIn(text)
  if (excess === undefined) take(messagesIn(parseJson(text)))
  else take(refusal({ head: text, tail: text }, excess, asked), excess)
  return undefined
}

function messagesIn(value: unknown): Message[] {
  const messages = fewMessages(messagesFrom(value))
  return messages.length > 0 ? messages : emptyAnswer(value)
}

/** What a handler that returned nothing becomes in JSON. Whoever waits for the answer would wait for nothing. */
function emptyAnswer(value: unknown): Message[] {
  if (!isRecord(value) || !isId(value.id) || 'method' in value || value.jsonrpc !== '2.0') return []
  return [withOwnId(refusedAnswer(value.id, 'It has neither a result nor an error.'))]
}

async function takeInTurns(text: string, take: TakeMessages, asked: Id | undefined): Promise<void> {
  let value: unknown
  try {
    value = await inTurns(jsonInSteps(text, MESSAGE_LIMITS), EVENT_LOOP)
  } catch (error) {
    if (error instanceof RangeError)
      return take(refusal({ head: text, tail: text }, error.message, asked), error.message)
    // What is no JSON is no message.
  }
  const messages = messagesIn(value)
  if (messages.length === 0) take(messages)
  else await inTurns(oneByOne(messages, take), EVENT_LOOP)
}

/** To handle what came in one text may take as long as to read it. */
function* oneByOne(messages: readonly Message[], take: TakeMessages): Steps<void> {
  for (const message of messages) {
    take([message])
    yield
  }
}

/** The same for a text that is too long to be held. */
export function takeTooLong(ends: Ends, maxBytes: number, take: TakeMessages): void {
  const excess = `It is longer than ${maxBytes} bytes.`
  take(refusal(ends, excess), excess)
}

type Ends = Pick<LineEnds, 'head' | 'tail'>

function refusal(ends: Ends, excess: string, asked = answeredId(ends)): Message[] {
  return asked === undefined ? [] : [refusedAnswer(asked, excess)]
}

/** Which request a text answers that is not parsed: servers write its id first of all, or last of all. */
function answeredId({ head, tail }: Ends): Id | undefined {
  const [, first] = ID_FIRST.exec(head) ?? []
  const [, last] = (ANSWER_FIRST.test(head) && ID_LAST.exec(tail.slice(-LAST_CHARACTERS))) || []
  const id = first ?? last
  return id === undefined ? undefined : Number(id)
}

const ID_FIRST =
  /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"\s*:/
const ANSWER_FIRST = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"\s*:/
const ID_LAST = /"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/
const LAST_CHARACTERS = 200

function fewMessages(messages: Message[]): Message[] {
  if (messages.length > MESSAGE_LIMITS.inBatch) return []
  return messages.some(hasTextId) ? messages.map(withOwnId) : messages
}

/** Our ids are numbers, and some servers write what they answer to as text. Clients that read it as a number work with them. */
function withOwnId(message: Message): Message {
  return hasTextId(message) ? { ...message, id: Number(message.id) } : message
}

function hasTextId(message: Message): message is Response & { readonly id: string } {
  return isResponse(message) && typeof message.id === 'string' && /^\d{1,15}$/.test(message.id)
}

/** Hands messages over. One strange message must not end more than itself. */
export function guardMessages(
  onMessage: ChannelEvents['onMessage'],
  log: (text: string) => void,
): ChannelEvents['onMessage'] {
  return (message, of) => {
    try {
      onMessage(message, of)
    } catch (error) {
      log(`A message from it could not be handled: ${String(error)}`)
    }
  }
}
