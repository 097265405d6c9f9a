import {
  isRecord,
  keyOf,
  metaOf,
  type Notification,
  type Request,
  type Response,
  standardHeaders,
} from '../mcp-wire/index.ts'
import { deliver, isStopping, type Outcome } from './delivery.ts'
import { failureAnswer, strangeAnswer } from './errors.ts'
import { type Incoming, type Parts, post, readAnswer } from './exchange-parts.ts'
import type { Gateway } from './gateway.ts'
import { listen } from './listening.ts'

/** Passes on what clients of 2026-07-28 and later say: every message stands for itself. */
export interface ModernLane {
  request(incoming: Incoming<Request>): Promise<void>
  notify(incoming: Incoming<Notification>): Promise<void>
  /** Ends a request by ending its connection, which is how one cancels over HTTP; false when it is none of these. */
  cancel(id: unknown): boolean
}

/** MCP 2026-07-28: headers and body do not agree. */
const HEADER_MISMATCH = -32_020

export function createModernLane(parts: Parts): ModernLane {
  const open = new Map<string, AbortController>()
  parts.closing.addEventListener('abort', () => {
    for (const controller of open.values()) controller.abort()
  })

  async function pass(said: Incoming<Request>, signal: AbortSignal): Promise<void> {
    if (said.message.method === 'subscriptions/listen') return listen(said, signal, parts)
    const incoming = await parts.attaching.prepare(said, signal)
    const { message: request } = incoming
    let hasAskedForTools = false
    const attempt = async (gateway: Gateway): Promise<Outcome> => {
      const answer = await exchange(incoming, gateway, { parts, signal })
      if (typeof answer === 'string') return answer
      const { message, text } = answer
      if (isStopping(message) && parts.facts.isRepeatable(request)) return 'unknown'
      if (message.error?.code === HEADER_MISMATCH && request.method === 'tools/call' && !hasAskedForTools) {
        hasAskedForTools = true
        await learnTools(request, gateway, { parts, signal })
        return 'again'
      }
      if (request.method === 'tools/list') parts.facts.learn(message.result)
      if (!signal.aborted) await parts.writer.write(text)
      return 'answered'
    }
    await deliver(parts, { request, isOver: () => signal.aborted, attempt })
  }

  return {
    async request(incoming) {
      const { message } = incoming
      const controller = new AbortController()
      open.set(keyOf(message.id), controller)
      const { signal } = controller
      try {
        await pass(incoming, signal)
      } catch (error) {
        if (!signal.aborted) await parts.writer.write(JSON.stringify(failureAnswer(message, error)))
      } finally {
        if (open.get(keyOf(message.id)) === controller) open.delete(keyOf(message.id))
      }
    },
    async notify({ message, text }) {
      const gateway = await parts.link.gateway()
      const reply = await post(parts, gateway, text, { headers: standardHeaders(message), signal: parts.closing })
      reply.resume()
    },
    cancel(id) {
      const controller = open.get(keyOf(id))
      controller?.abort()
      return controller !== undefined
    },
  }
}

interface Exchange {
  readonly parts: Parts
  readonly signal: AbortSignal
}

/** Sends a request once and passes on what comes before its answer. */
async function exchange(
  { message, text }: Incoming<Request>,
  gateway: Gateway,
  { parts, signal }: Exchange,
): Promise<Incoming<Response> | Outcome> {
  const own = message.method === 'tools/call' ? parts.facts.headersFor(message.params) : {}
  const reply = await post(parts, gateway, text, { headers: { ...standardHeaders(message), ...own }, signal })
  if (reply.statusCode === 401) {
    reply.resume()
    return 'notSent'
  }
  const answer = await readAnswer(reply, message.id, async incoming => {
    parts.facts.notice(incoming.message)
    if (!signal.aborted) await parts.writer.write(incoming.text)
  })
  if (answer) return answer
  const status = reply.statusCode ?? 0
  if (status >= 400) throw strangeAnswer(status)
  return 'unknown'
}

/** Asks for all tools on the client's behalf: a client on stdio knows nothing of headers, and need not have listed them. */
async function learnTools(request: Request, gateway: Gateway, context: Exchange): Promise<void> {
  const { progressToken: _own, ...meta } = metaOf(request.params)
  let cursor: unknown
  do {
    const params = { _meta: meta, ...(cursor === undefined ? {} : { cursor }) }
    const message: Request = { jsonrpc: '2.0', id: 'quartermaster-connect:tools', method: 'tools/list', params }
    const answer = await exchange({ message, text: JSON.stringify(message) }, gateway, context)
    const result = typeof answer === 'string' ? undefined : answer.message.result
    context.parts.facts.learn(result)
    cursor = isRecord(result) ? result.nextCursor : undefined
  } while (cursor !== undefined)
}
