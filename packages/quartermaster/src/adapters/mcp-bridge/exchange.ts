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

/** The shared parts of a bridge. */
export interface Parts {
  readonly link: Link
  readonly exchange: HttpExchange
  readonly writer: LineWriter
  readonly facts: ToolFacts
  readonly uploads: FileUploads
  readonly clock: Clock
  readonly pause: Pause
  readonly closing: AbortSignal
  tell(text: string): void
}

/** A message with its original text, which is forwarded unchanged: its numbers may exceed JavaScript's precision. */
export interface Incoming<M extends Message = Message> {
  readonly message: M
  readonly text: string
}

/** Uploads the files that an agent names by path: only the bridge runs on its machine. */
export interface FileUploads {
  /** The same call with attachment ids in place of paths. Throws for the first file that cannot be uploaded. */
  prepare(incoming: Incoming<Request>, signal: AbortSignal): Promise<Incoming<Request>>
}

/** Posts a message to a gateway. Rejects with `Dropped`. */
export function post(
  { exchange }: Parts,
  gateway: Gateway,
  body: string,
  { headers, signal }: { readonly headers: Record<string, string>; readonly signal: AbortSignal },
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

/** Reads a reply up to the answer; `undefined` when the connection ended before that. */
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
    // A broken stream just means that the answer is missing.
  }
  return undefined
}

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
  // An event may contain line breaks; a line on stdio must not.
  return message && { message, text: text.includes('\n') ? JSON.stringify(message) : text }
}

export async function textOf(reply: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of reply) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

/** Sets the request's id: an early refusal does not know it, but the client waits for exactly that id. */
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
  /** How it is sent; decided at the first attempt. */
  terms?: SendTerms
  readonly controller: AbortController
}

/** The client's requests that wait for an answer. Their connections are closed when the signal aborts. */
export function createOpenRequests(closing: AbortSignal) {
  const requests = new Map<string, OpenRequest>()
  closing.addEventListener('abort', () => {
    for (const { controller } of requests.values()) controller.abort()
  })
  return {
    /** Registers a request while the work runs. */
    async during({ id }: Request, work: (open: OpenRequest) => Promise<void>) {
      const open: OpenRequest = { isSent: false, isCancelled: false, controller: new AbortController() }
      requests.set(keyOf(id), open)
      try {
        await work(open)
      } finally {
        // A client that reused the id has another request open by now.
        if (requests.get(keyOf(id)) === open) requests.delete(keyOf(id))
      }
    },
    find: (id: unknown): OpenRequest | undefined => requests.get(keyOf(id)),
  }
}

/**
 * Questions of the session's server to the client. Each new session numbers its requests from the start, so they get ids of
 * ours on the way to the client; otherwise an answer could reach a question of another session.
 */
export interface ServerRequests {
  /** The message as the client gets it; the same object if unchanged. */
  outward(message: Message, session: object): Message
  /** The client's answer as the session gets it; `undefined` when no request waits for it. */
  inward(response: Response, session: object | undefined): Response | undefined
  /** Error answers to all open questions, for a client that closed its input. */
  refusals(): Response[]
  /** Cancellations of all open questions of a session that has ended. */
  recall(session: object): Message[]
}

const SILENT = { code: -32_000, message: 'The client has closed its input.' }

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

/** The `data` of each server-sent event. Ids, names and comments are ignored. */
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
