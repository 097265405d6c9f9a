import { randomUUID } from 'node:crypto'
import type { Incoming } from '../mcp-bridge/index.ts'
import {
  type Id,
  isRecord,
  isRequest,
  isResponse,
  keyOf,
  metaOf,
  type Notification,
  type Request,
  type Response,
} from '../mcp-wire/index.ts'
import type { Workspace } from './workspace.ts'

/** What the servers of several workspaces tell one client, and ask its person. No server speaks for another. */
export interface ServerMessages {
  /** Passes on what a workspace tells or asks, if a server may. */
  pass(incoming: Incoming, workspace: Workspace): Promise<void>
  /** Takes the client's answer to a question to the workspace that asked. */
  answer(response: Response): Promise<void>
  /** Progress of a request comes from the workspace that it was sent to. */
  during<T>(request: Request, workspace: Workspace, work: () => Promise<T>): Promise<T>
}

interface ServerMessagesDeps {
  write(text: string): Promise<void>
  nameOf(workspace: Workspace): string
  /** Passes on a notification that concerns a list, a resource or a log. */
  notify(message: Notification, workspace: Workspace): Promise<void>
}

const QUESTIONS: ReadonlySet<string> = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list'])
const NOTIFICATIONS: ReadonlySet<string> = new Set([
  'notifications/message',
  'notifications/resources/updated',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/subscriptions/acknowledged',
  'notifications/elicitation/complete',
])
/** A server may ask any number of questions; more are left unanswered. */
const MOST_QUESTIONS = 1_000

/** Whether a server may send such a message at all. What a client does for its own servers alone is no matter of theirs. */
export function isAllowed(message: Incoming['message']): boolean {
  if (isResponse(message)) return true
  const { method } = message
  if (isRequest(message)) return QUESTIONS.has(method) || method === 'ping'
  return NOTIFICATIONS.has(method) || method === 'notifications/progress' || method === CANCELLED
}

const CANCELLED = 'notifications/cancelled'

export function createServerMessages({ write, nameOf, notify }: ServerMessagesDeps): ServerMessages {
  /** Open questions by the id that the client has. It cannot be guessed, so that no other server can ask under it. */
  const asked = new Map<string, { readonly workspace: Workspace; readonly id: Id }>()
  const progress = new Map<string, Workspace>()

  async function ask(question: Request, workspace: Workspace): Promise<void> {
    if (asked.size >= MOST_QUESTIONS) return
    const id = `question-${randomUUID()}`
    asked.set(id, { workspace, id: question.id })
    await write(JSON.stringify({ ...placed(question, nameOf(workspace)), id }))
  }

  async function withdraw(message: Notification, workspace: Workspace): Promise<void> {
    const inner = keyOf(message.params?.requestId)
    for (const [id, one] of asked)
      if (one.workspace === workspace && keyOf(one.id) === inner) {
        asked.delete(id)
        await write(JSON.stringify({ ...message, params: { ...message.params, requestId: id } }))
      }
  }

  return {
    async pass({ message, text }, workspace) {
      if (isResponse(message) || !isAllowed(message)) return
      if (isRequest(message)) return ask(message, workspace)
      if (message.method === CANCELLED) return withdraw(message, workspace)
      if (message.method !== 'notifications/progress') return notify(message, workspace)
      if (progress.get(keyOf(message.params?.progressToken)) === workspace) await write(text)
    },
    async answer(response) {
      const one = asked.get(String(response.id))
      asked.delete(String(response.id))
      await one?.workspace.send({ ...response, id: one.id })
    },
    async during(request, workspace, work) {
      const key = keyOf(metaOf(request.params).progressToken)
      if (key !== '') progress.set(key, workspace)
      try {
        return await work()
      } finally {
        if (progress.get(key) === workspace) progress.delete(key)
      }
    },
  }
}

/** A question says which workspace asks it: the person cannot know otherwise. */
function placed(question: Request, name: string): Request {
  return { ...question, params: withPlace(question.method, question.params ?? {}, name) }
}

function withPlace(method: unknown, params: Readonly<Record<string, unknown>>, name: string) {
  if (method !== 'elicitation/create' || typeof params.message !== 'string') return params
  return { ...params, message: `In your workspace "${name}": ${params.message}` }
}

/** The same of the questions in an answer to a client without sessions. */
export function withPlaces(result: Record<string, unknown>, name: string): Record<string, unknown> {
  const { inputRequests } = result
  if (!isRecord(inputRequests)) return result
  const placedRequests = Object.entries(inputRequests).map(([key, one]) => {
    if (!isRecord(one) || !isRecord(one.params)) return [key, one]
    return [key, { ...one, params: withPlace(one.method, one.params, name) }]
  })
  return { ...result, inputRequests: Object.fromEntries(placedRequests) }
}
