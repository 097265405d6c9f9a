/** A request id. The text "1" and the number 1 are different ids. */
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

export interface Response {
  readonly jsonrpc: '2.0'
  readonly id: Id | null
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

export type Message = Request | Notification | Response

/** The message in a text, or `undefined`. Parameters are not validated: the receiver does that. */
export function parseMessage(text: string): Message | undefined {
  return toMessage(parseJson(text))
}

/** The messages in a text that may be a batch (MCP 2025-03-26); empty when any element is no message. */
export function parseMessages(text: string): Message[] {
  return messagesFrom(parseJson(text))
}

export function messagesFrom(value: unknown): Message[] {
  const messages = Array.isArray(value) ? value.map(toMessage) : [toMessage(value)]
  return messages.every(message => message !== undefined) ? messages : []
}

function toMessage(value: unknown): Message | undefined {
  if (!isRecord(value)) return undefined
  if (typeof value.method === 'string') return value as unknown as Request | Notification
  return 'result' in value || 'error' in value ? (value as unknown as Response) : undefined
}

/** The value of a JSON text, or `undefined` when it is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The caller's own error says what was expected; the position in the text helps no one.
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

export function keyOf(id: unknown): string {
  return JSON.stringify(id) ?? ''
}

export function metaOf(params: Params | undefined): Params {
  return isRecord(params?._meta) ? params._meta : {}
}
