import { isRequest, type Message, standardHeaders } from '../../mcp-wire/index.ts'
import { type HttpAnswer, headerOf, isGood } from './http-client.ts'

/** What connects the requests of one connection. From 2026-07-28 on there is nothing but what each request says itself. */
export interface HttpSession {
  /** What the server calls it; only before 2026-07-28, and not with every server. */
  id(): string | undefined
  /** The revision both sides have settled on. */
  agreed(version: string): void
  headers(): Record<string, string>
  postHeaders(message: Message): Record<string, string>
  listenHeaders(lastEventId: string | undefined): Record<string, string>
  /** The answer to the first message may begin a session. */
  note(message: Message, answer: HttpAnswer): void
}

export function createHttpSession(): HttpSession {
  let id: string | undefined
  let version: string | undefined
  const headers = () => ({
    ...(id === undefined ? {} : { 'mcp-session-id': id }),
    ...(version === undefined ? {} : { 'mcp-protocol-version': version }),
  })
  return {
    id: () => id,
    agreed(agreed) {
      version = agreed
    },
    headers,
    postHeaders: message => ({
      ...(isFirst(message) ? {} : headers()),
      ...(isRequest(message) ? standardHeaders(message) : {}),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }),
    listenHeaders: lastEventId => ({
      ...headers(),
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      accept: 'text/event-stream',
    }),
    note(message, answer) {
      if (isFirst(message) && isGood(answer)) id = headerOf(answer, 'mcp-session-id')
    },
  }
}

function isFirst(message: Message): boolean {
  return 'method' in message && message.method === 'initialize'
}
