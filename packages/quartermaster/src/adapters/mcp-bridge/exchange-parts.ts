import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../core/kernel/index.ts'
import type { HttpExchange } from '../http-exchange/index.ts'
import {
  type Id,
  isResponse,
  keyOf,
  type LineWriter,
  type Message,
  parseMessage,
  type Request,
  type Response,
} from '../mcp-wire/index.ts'
import type { Gateway } from './gateway.ts'
import type { Link } from './link.ts'
import type { Pause } from './pause.ts'
import { readEvents } from './server-events.ts'
import type { ToolFacts } from './tool-facts.ts'

/** What passing on a message takes. */
export interface Parts {
  readonly link: Link
  readonly exchange: HttpExchange
  readonly writer: LineWriter
  readonly facts: ToolFacts
  readonly attaching: Attaching
  readonly clock: Clock
  readonly pause: Pause
  /** Aborts when the bridge ends. */
  readonly closing: AbortSignal
  tell(text: string): void
}

/** A message with the text it came as, which is passed on as it is: numbers in it may be larger than ours. */
export interface Incoming<M extends Message = Message> {
  readonly message: M
  readonly text: string
}

/** Hands in the files that an agent names by their paths: nobody but us is beside it. */
export interface Attaching {
  /** The same call with ids in the place of paths. Throws what is wrong with the first that cannot be handed in. */
  prepare(incoming: Incoming<Request>, signal: AbortSignal): Promise<Incoming<Request>>
}

export interface SendOptions {
  readonly headers: Record<string, string>
  readonly signal: AbortSignal
}

/** Posts a message to a gateway. Rejects with `Dropped`. */
export function post(
  { exchange }: Parts,
  gateway: Gateway,
  body: string,
  { headers, signal }: SendOptions,
): Promise<IncomingMessage> {
  return exchange.send({
    method: 'POST',
    url: gateway.url,
    headers: {
      authorization: `Bearer ${gateway.token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body,
    signal,
  })
}

/** Reads what comes back for a request up to its answer; `undefined` when the connection ended before that. */
export async function readAnswer(
  reply: IncomingMessage,
  id: Id,
  onMessage: (incoming: Incoming) => Promise<void>,
): Promise<Incoming<Response> | undefined> {
  try {
    if (!isStream(reply)) return withId(parsed(await textOf(reply)), id)
    for await (const incoming of messagesOf(reply)) {
      const { message } = incoming
      if (isResponse(message) && keyOf(message.id) === keyOf(id)) return { ...incoming, message }
      await onMessage(incoming)
    }
  } catch {
    // However it broke off, what is missing is the answer.
  }
  return undefined
}

/** The messages of an answer that is a stream. */
export async function* messagesOf(reply: IncomingMessage): AsyncGenerator<Incoming> {
  for await (const text of readEvents(reply)) {
    const incoming = parsed(text)
    if (incoming) yield incoming
  }
}

export function isStream(reply: IncomingMessage): boolean {
  return reply.headers['content-type']?.startsWith('text/event-stream') === true
}

function parsed(text: string): Incoming | undefined {
  const message = parseMessage(text)
  // A line must not hold a line break, and an event may.
  return message && { message, text: text.includes('\n') ? JSON.stringify(message) : text }
}

export async function textOf(reply: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of reply) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

/** A refusal from before the message was read does not know its id, but the client waits for exactly that. */
function withId(incoming: Incoming | undefined, id: Id): Incoming<Response> | undefined {
  if (!incoming || !isResponse(incoming.message)) return undefined
  const { message, text } = incoming
  if (keyOf(message.id) === keyOf(id)) return { message, text }
  const answer = { ...message, id }
  return { message: answer, text: JSON.stringify(answer) }
}
