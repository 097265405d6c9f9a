import { Dropped } from '../http-exchange/index.ts'
import {
  isRecord,
  isResponse,
  type Message,
  type Notification,
  type Params,
  type Request,
  standardHeaders,
} from '../mcp-wire/index.ts'
import { isPassing, strangeAnswer } from './errors.ts'
import { type Incoming, isStream, messagesOf, type Parts, post, readAnswer } from './exchange-parts.ts'
import type { Gateway } from './gateway.ts'

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
const SUBSCRIPTION_KEY = 'io.modelcontextprotocol/subscriptionId'

/** A stream that lasted this long was no failed try. */
const LASTING_MS = 1_000

/** How one opening of the stream ended: with an answer for the client, without one, or with the gateway gone. */
type End = 'answered' | 'ended' | 'lost'

/**
 * Keeps a `subscriptions/listen` open for as long as the client wants it, over as many connections as it takes. The
 * client sees one subscription: it is acknowledged once, and after a gap it is told that everything may have changed.
 */
export async function listen(incoming: Incoming<Request>, signal: AbortSignal, parts: Parts): Promise<void> {
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
      // Before it was acknowledged the client waits for an answer; later it waits for changes, however long that takes.
      if (!subscription.isAcknowledged() || !isPassing(error)) throw error
    }
    if (clock.now() - openedAt > LASTING_MS) tries = 0
    await pause(tries)
  }
}

interface Subscription {
  open(gateway: Gateway): Promise<End>
  isAcknowledged(): boolean
}

function createSubscription(
  { message: request, text }: Incoming<Request>,
  signal: AbortSignal,
  parts: Parts,
): Subscription {
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
      // A server that goes away ends its subscriptions politely; one that honours nothing has nothing to keep open.
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
      // However a stream breaks off, it has to be opened again.
    }
    return 'ended'
  }

  return {
    isAcknowledged: () => honoured !== undefined,
    async open(gateway) {
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

/** Everything that a subscription is about, as changed. */
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
