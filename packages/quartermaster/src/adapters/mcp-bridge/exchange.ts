import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../core/kernel/index.ts'
import type { HttpExchange } from '../http-exchange/index.ts'
import {
  type Id,
  isId,
  isRequest,
  isResponse,
  keyOf,
  type LineWriter,
  type Message,
  parseMessage,
  type Request,
  type Response,
} from '../mcp-wire/index.ts'
import type { Gateway, Link, Pause } from './link.ts'
import type { SendTerms, ToolFacts } from './tool-facts.ts'

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

/** Hands in the files that an agent names by path: only the bridge runs on its machine. */
export interface Attaching {
  /** The same call with ids in the place of paths. Throws what is wrong with the first that cannot be handed in. */
  prepare(incoming: Incoming<Request>, signal: AbortSignal): Promise<Incoming<Request>>
}

interface SendOptions {
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

/** A request that waits for its answer. */
export interface OpenRequest {
  isSent: boolean
  isCancelled: boolean
  /** How it is sent, from its first try on. */
  terms?: SendTerms
  /** Ends its connection. */
  readonly controller: AbortController
}

/** The requests of a client that wait for their answers. */
interface OpenRequests {
  /** It waits for as long as the work takes. */
  during(request: Request, work: (open: OpenRequest) => Promise<void>): Promise<void>
  find(id: unknown): OpenRequest | undefined
}

/** None of them has a connection once the signal aborts. */
export function createOpenRequests(closing: AbortSignal): OpenRequests {
  const requests = new Map<string, OpenRequest>()
  closing.addEventListener('abort', () => {
    for (const { controller } of requests.values()) controller.abort()
  })
  return {
    async during({ id }, work) {
      const open: OpenRequest = { isSent: false, isCancelled: false, controller: new AbortController() }
      requests.set(keyOf(id), open)
      try {
        await work(open)
      } finally {
        // A client that uses an id twice has another one open by now.
        if (requests.get(keyOf(id)) === open) requests.delete(keyOf(id))
      }
    },
    find: id => requests.get(keyOf(id)),
  }
}

/**
 * What the server of a session asks the client. A new session counts its requests from the beginning again, so each gets
 * an id of ours on the way to the client: otherwise an answer could reach a question of another session.
 */
export interface ServerRequests {
  /** The message as the client gets it; the same object when nothing is to be changed. */
  outward(message: Message, session: object): Message
  /** The client's answer as the session gets it; `undefined` when no request waits for it any more. */
  inward(response: Response, session: object | undefined): Response | undefined
  /** What a client that says no more has to say to everything it was asked and has not answered. */
  refusals(): Response[]
  /** Messages that call back everything a session asked: it is over. */
  recall(session: object): Message[]
}

const SILENT = { code: -32_000, message: 'The client says no more.' }

const CANCELLED = 'notifications/cancelled'

export function createServerRequests(): ServerRequests {
  const open = new Map<string, { readonly session: object; readonly id: Id }>()
  let count = 0

  const ownIdOf = (id: unknown, session: object): string | undefined =>
    [...open].find(([, asked]) => asked.session === session && keyOf(asked.id) === keyOf(id))?.[0]

  return {
    outward(message, session) {
      if (isRequest(message)) {
        const id = `connect-${++count}`
        open.set(id, { session, id: message.id })
        return { ...message, id }
      }
      if (!('method' in message) || message.method !== CANCELLED) return message
      const requestId = ownIdOf(message.params?.requestId, session)
      return requestId === undefined ? message : { ...message, params: { ...message.params, requestId } }
    },
    inward(response, session) {
      const asked = isId(response.id) ? open.get(String(response.id)) : undefined
      open.delete(String(response.id))
      return asked && asked.session === session ? { ...response, id: asked.id } : undefined
    },
    refusals: () => [...open.keys()].map(id => ({ jsonrpc: '2.0', id, error: SILENT })),
    recall(session) {
      const ended = [...open].filter(([, asked]) => asked.session === session)
      for (const [id] of ended) open.delete(id)
      const reason = 'Quartermaster was restarted.'
      return ended.map(([requestId]) => ({ jsonrpc: '2.0', method: CANCELLED, params: { requestId, reason } }))
    },
  }
}

/**
 * The data of each event of a stream, as HTML's "Server-sent events" has them: lines that begin with `data:` up to an
 * empty line. Ids, names and comments mean nothing here.
 */
export async function* readEvents(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  let data: string[] = []
  for await (const chunk of body) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n')
    rest = lines.pop() ?? ''
    for (const ended of lines) {
      const line = ended.endsWith('\r') ? ended.slice(0, -1) : ended
      if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
      if (line !== '' || data.length === 0) continue
      yield data.join('\n')
      data = []
    }
  }
}
