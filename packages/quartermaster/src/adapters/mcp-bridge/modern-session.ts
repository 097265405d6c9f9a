import { IDEMPOTENCY_HEADER, IDEMPOTENCY_META } from '../../contracts/index.ts'
import { Dropped } from '../http-exchange/index.ts'
import {
  isRecord,
  isResponse,
  keyOf,
  type Message,
  metaOf,
  type Notification,
  type Params,
  type Request,
  type Response,
  standardHeaders,
} from '../mcp-wire/index.ts'
import { type AttemptOptions, deliver, isRetried, isStopping, type Outcome } from './delivery.ts'
import { failureAnswer, isPassing, strangeAnswer } from './errors.ts'
import { type Incoming, isStream, messagesOf, type Parts, post, readAnswer } from './exchange.ts'
import type { Gateway } from './link.ts'
import type { SendTerms } from './tool-facts.ts'

/** Forwards messages of modern clients: every message is self-contained. */
export interface ModernSession {
  request(incoming: Incoming<Request>): Promise<void>
  notify(incoming: Incoming<Notification>): Promise<void>
  /** Cancels a request by closing its connection, as HTTP clients do; `false` when the request is unknown. */
  cancel(id: unknown): boolean
}

/** MCP 2026-07-28: headers and body disagree. */
const HEADER_MISMATCH = -32_020

export function createModernSession(parts: Parts): ModernSession {
  const open = new Map<string, Open>()
  parts.closing.addEventListener('abort', () => {
    for (const { controller } of open.values()) controller.abort()
  })

  async function pass(received: Incoming<Request>, one: Open): Promise<void> {
    const { signal } = one.controller
    if (received.message.method === 'subscriptions/listen') return listen(received, signal, parts)
    const incoming = await parts.uploads.prepare(received, signal)
    const { message: request } = incoming
    let terms: SendTerms | undefined
    let hasRelisted = false
    const attempt = async (gateway: Gateway, { awaitsRetry }: AttemptOptions): Promise<Outcome> => {
      const list = (params: Params) => listTools(params, { request, gateway, parts, signal })
      terms ??= await parts.facts.termsOf(request, list)
      one.sent = { gateway, headers: terms.headers }
      const answer = await exchange(incoming, gateway, { parts, signal, headers: terms.headers })
      if (typeof answer === 'string') return answer
      const { message, text } = answer
      if (isStopping(message)) return 'notSent'
      if (awaitsRetry && isRetried(message)) return 'again'
      if (message.error?.code === HEADER_MISMATCH && request.method === 'tools/call' && !hasRelisted) {
        hasRelisted = true
        await parts.facts.relist(list)
        return 'again'
      }
      if (request.method === 'tools/list') parts.facts.learn(message.result)
      if (!signal.aborted) await parts.writer.write(text)
      return 'answered'
    }
    const isRepeatable = () => terms?.isRepeatable ?? true
    await deliver(parts, { request, isOver: () => signal.aborted, isRepeatable, attempt })
  }

  return {
    async request(incoming) {
      const { message } = incoming
      const one: Open = { request: message, controller: new AbortController() }
      open.set(keyOf(message.id), one)
      try {
        await pass(incoming, one)
      } catch (error) {
        if (!one.controller.signal.aborted) await parts.writer.write(JSON.stringify(failureAnswer(message, error)))
      } finally {
        if (open.get(keyOf(message.id)) === one) open.delete(keyOf(message.id))
      }
    },
    async notify({ message, text }) {
      const gateway = await parts.link.gateway()
      const reply = await post(parts, gateway, text, { headers: standardHeaders(message), signal: parts.closing })
      reply.resume()
    },
    cancel(id) {
      const one = open.get(keyOf(id))
      if (one) notifyCancelled(one, parts)
      one?.controller.abort()
      return one !== undefined
    },
  }
}

interface Open {
  readonly request: Request
  readonly controller: AbortController
  /** The target of the last attempt. */
  sent?: { readonly gateway: Gateway; readonly headers: SendTerms['headers'] }
}

/** A call with an idempotency key outlives its connection, so it is also cancelled explicitly. */
function notifyCancelled({ request, sent }: Open, parts: Parts): void {
  const _meta = metaOf(request.params)
  if (!sent || (_meta[IDEMPOTENCY_META] ?? sent.headers[IDEMPOTENCY_HEADER]) === undefined) return
  const notice: Notification = {
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: request.id, _meta },
  }
  const headers = { ...standardHeaders(notice), ...sent.headers }
  post(parts, sent.gateway, JSON.stringify(notice), { headers, signal: parts.closing })
    .then(reply => reply.resume())
    // The call has ended with its gateway.
    .catch(() => {})
}

interface Exchange {
  readonly parts: Parts
  readonly signal: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a request once and forwards the notifications before its answer. */
async function exchange(
  { message, text }: Incoming<Request>,
  gateway: Gateway,
  { parts, signal, headers = {} }: Exchange,
): Promise<Incoming<Response> | Outcome> {
  const own = message.method === 'tools/call' ? parts.facts.headersFor(message.params) : {}
  const options = { headers: { ...standardHeaders(message), ...own, ...headers }, signal }
  const reply = await post(parts, gateway, text, options)
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

/** Lists tools for the bridge itself: a stdio client knows nothing of headers, and need not have listed them. */
async function listTools(
  params: Params,
  { request, gateway, ...context }: Exchange & { request: Request; gateway: Gateway },
): Promise<unknown> {
  const { progressToken: _own, ...meta } = metaOf(request.params)
  const id = 'quartermaster-connect:tools'
  const message: Request = { jsonrpc: '2.0', id, method: 'tools/list', params: { _meta: meta, ...params } }
  const answer = await exchange({ message, text: JSON.stringify(message) }, gateway, context)
  return typeof answer === 'string' ? undefined : answer.message.result
}

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
const SUBSCRIPTION_KEY = 'io.modelcontextprotocol/subscriptionId'

/** A stream that lasted this long resets the backoff. */
const LASTING_MS = 1_000

/** How an opened stream ended: with an answer for the client, without one, or with the gateway lost. */
type End = 'answered' | 'ended' | 'lost'

/**
 * Keeps a `subscriptions/listen` open, over as many connections as needed. The client sees a single subscription: one
 * acknowledgement, and after a gap notifications that everything may have changed.
 */
async function listen(incoming: Incoming<Request>, signal: AbortSignal, parts: Parts): Promise<void> {
  const { link, clock, pause } = parts
  const subscription = createSubscription(incoming, signal, parts)
  for (let tries = 0; !signal.aborted; tries++) {
    const openedAt = clock.now()
    try {
      const gateway = await link.gateway()
      const end = await link.during(gateway, () => subscription.open(gateway))
      if (end === 'answered' || signal.aborted) return
      if (end === 'lost') link.lose(gateway)
    } catch (error) {
      // Before the acknowledgement the client waits for an answer; afterwards for changes, however long that takes.
      if (!subscription.isAcknowledged() || !isPassing(error)) throw error
    }
    if (clock.now() - openedAt > LASTING_MS) tries = 0
    await pause(tries)
  }
}

function createSubscription({ message: request, text }: Incoming<Request>, signal: AbortSignal, parts: Parts) {
  const { writer, facts } = parts
  let honoured: Params | undefined

  async function acknowledge(params: Params | undefined, acknowledgement: string): Promise<void> {
    const isFirst = honoured === undefined
    honoured = isRecord(params?.notifications) ? params.notifications : {}
    if (isFirst) return writer.write(acknowledgement)
    for (const change of changesOf(honoured, request)) await pass(change, JSON.stringify(change))
  }

  function pass(message: Message, passed: string): Promise<void> {
    facts.notice(message)
    return writer.write(passed)
  }

  async function take({ message, text: taken }: Incoming): Promise<End | undefined> {
    if (isResponse(message)) {
      // A stopping server ends its subscriptions; an acknowledged subscription to nothing is not reopened.
      if (message.error === undefined && Object.keys(honoured ?? {}).length > 0) return 'ended'
      await writer.write(taken)
      return 'answered'
    }
    if (message.method === ACKNOWLEDGED) await acknowledge(message.params, taken)
    else await pass(message, taken)
    return undefined
  }

  async function follow(stream: AsyncIterable<Incoming>): Promise<End> {
    try {
      for await (const next of stream) {
        const end = await take(next)
        if (end) return end
      }
    } catch {
      // A broken stream is reopened.
    }
    return 'ended'
  }

  return {
    isAcknowledged: () => honoured !== undefined,
    async open(gateway: Gateway): Promise<End> {
      try {
        const reply = await post(parts, gateway, text, { headers: standardHeaders(request), signal })
        if (isStream(reply)) return await follow(messagesOf(reply))
        const answer = await readAnswer(reply, request.id, async () => {})
        if (reply.statusCode === 401) return 'lost'
        if (!answer) throw strangeAnswer(reply.statusCode ?? 0)
        await writer.write(answer.text)
        return 'answered'
      } catch (error) {
        if (error instanceof Dropped) return 'lost'
        throw error
      }
    },
  }
}

const CHANGES: Readonly<Record<string, string>> = {
  toolsListChanged: 'notifications/tools/list_changed',
  promptsListChanged: 'notifications/prompts/list_changed',
  resourcesListChanged: 'notifications/resources/list_changed',
}

/** Change notifications for everything a subscription covers. */
function changesOf(honoured: Params, { id }: Request): Notification[] {
  const _meta = { [SUBSCRIPTION_KEY]: id }
  const lists = Object.entries(CHANGES).filter(([name]) => honoured[name] === true)
  const uris = Array.isArray(honoured.resourceSubscriptions) ? honoured.resourceSubscriptions : []
  return [
    ...lists.map(([, method]) => ({ jsonrpc: '2.0' as const, method, params: { _meta } })),
    ...uris.map(uri => ({
      jsonrpc: '2.0' as const,
      method: 'notifications/resources/updated',
      params: { uri, _meta },
    })),
  ]
}
