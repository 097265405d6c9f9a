/** What identifies a request; a text and a number that look alike are two ids. */
export type Id = string | number

export type Params = Readonly<Record<string, unknown>>

export interface Request {
  readonly jsonrpc: '2.0'
  readonly id: Id
  readonly method: string
  readonly params?: Params
}

export interface Notification {
  readonly jsonrpc: '2.0'
  readonly method: string
  readonly params?: Params
}

/** An answer: a result, or an error. */
export interface Response {
  readonly jsonrpc: '2.0'
  readonly id: Id | null
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

export type Message = Request | Notification | Response

/** The message in a text; `undefined` when there is none. Parameters stay as they are: the other side checks them. */
export function parseMessage(text: string): Message | undefined {
  return toMessage(parseJson(text))
}

/** The same for a client that may send batches (MCP 2025-03-26); nothing where an element is no message. */
export function parseMessages(text: string): Message[] {
  return messagesFrom(parseJson(text))
}

/** The same of what was parsed already. */
export function messagesFrom(value: unknown): Message[] {
  const messages = Array.isArray(value) ? value.map(toMessage) : [toMessage(value)]
  return messages.every(message => message !== undefined) ? messages : []
}

function toMessage(value: unknown): Message | undefined {
  if (!isRecord(value)) return undefined
  if (typeof value.method === 'string') return value as unknown as Request | Notification
  return 'result' in value || 'error' in value ? (value as unknown as Response) : undefined
}

/** The value of a JSON text; `undefined` when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The caller says what was expected; where in the text it ends does not help anyone.
    return undefined
  }
}

export function isRequest(message: Message): message is Request {
  return 'method' in message && 'id' in message && isId(message.id)
}

export function isResponse(message: Message): message is Response {
  return !('method' in message)
}

export function isId(value: unknown): value is Id {
  return typeof value === 'string' || typeof value === 'number'
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An id as the key of a map. */
export function keyOf(id: unknown): string {
  return JSON.stringify(id) ?? ''
}

/** What a message says beside its parameters. */
export function metaOf(params: Params | undefined): Params {
  return isRecord(params?._meta) ? params._meta : {}
}
