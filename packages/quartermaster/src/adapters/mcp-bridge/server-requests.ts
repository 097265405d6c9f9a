import { type Id, isId, isRequest, keyOf, type Message, type Response } from '../mcp-wire/index.ts'

/**
 * What the server of a session asks the client. A new session counts its requests from the beginning again, so each gets
 * an id of ours on the way to the client: otherwise an answer could reach a question of another session.
 */
export interface ServerRequests {
  /** The message as the client gets it; the same object when nothing is to be changed. */
  outward(message: Message, session: object): Message
  /** The client's answer as the session gets it; `undefined` when nobody waits for it any more. */
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
