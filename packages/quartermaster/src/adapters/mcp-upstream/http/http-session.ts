import { IDEMPOTENCY_HEADER, IDEMPOTENCY_META } from '../../../contracts/index.ts'
import { type HttpAnswer, headerOf, isGood } from '../../http-client/index.ts'
import { isRequest, type Message, metaOf, type Request, standardHeaders } from '../../mcp-wire/index.ts'

/** What connects the requests of one connection. From 2026-07-28 on there is nothing but what each request says itself. */
export interface HttpSession {
  /** What the server calls it; only before 2026-07-28, and not with every server. */
  id(): string | undefined
  /** The revision both sides have settled on. */
  agreed(version: string): void
  headers(): Record<string, string>
  /** Adds what goes with a message. */
  addPostHeaders(headers: Record<string, string>, message: Message): Record<string, string>
  listenHeaders(lastEventId: string | undefined): Record<string, string>
  /** The answer to the first message may begin a session. */
  note(message: Message, answer: HttpAnswer): void
}

export function createHttpSession(): HttpSession {
  let id: string | undefined
  let version: string | undefined
  const add = (headers: Record<string, string>) => {
    if (id !== undefined) headers['mcp-session-id'] = id
    if (version !== undefined) headers['mcp-protocol-version'] = version
    return headers
  }
  return {
    id: () => id,
    agreed(agreed) {
      version = agreed
    },
    headers: () => add({}),
    addPostHeaders(headers, message) {
      if (!isFirst(message)) add(headers)
      if (isRequest(message)) addRequestHeaders(headers, message)
      headers['content-type'] = 'application/json'
      headers.accept = 'application/json, text/event-stream'
      return headers
    },
    listenHeaders(lastEventId) {
      const headers = add({ accept: 'text/event-stream' })
      if (lastEventId !== undefined) headers['last-event-id'] = lastEventId
      return headers
    },
    note(message, answer) {
      if (isFirst(message) && isGood(answer)) id = headerOf(answer, 'mcp-session-id')
    },
  }
}

/** What the message says is said again for whoever reads no bodies; the key for whatever stands in front of the server. */
function addRequestHeaders(headers: Record<string, string>, message: Request): void {
  Object.assign(headers, standardHeaders(message))
  const key = metaOf(message.params)[IDEMPOTENCY_META]
  if (typeof key === 'string') headers[IDEMPOTENCY_HEADER] = key
}

function isFirst(message: Message): boolean {
  return 'method' in message && message.method === 'initialize'
}
