import { IDEMPOTENCY_HEADER, IDEMPOTENCY_META } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import { createDiscard, createHttpClient, type HttpAnswer, headerOf, isGood } from '../../http-client/index.ts'
import { isRequest, type Message, metaOf, type Request, standardHeaders } from '../../mcp-wire/index.ts'
import {
  type Channel,
  type ChannelEnd,
  type ChannelEvents,
  ChannelFailure,
  isShut,
  type OpenChannel,
  SendFailure,
} from '../peer/channel.ts'
import { guardMessages, MESSAGE_LIMITS } from '../peer/incoming-message.ts'
import { createGapReporter } from '../peer/subscription-times.ts'
import { createExchanges, createHttpIncoming, type Exchange } from './http-incoming.ts'
import {
  createRejectionProbe,
  createSessionRenewalLimit,
  isOurProbe,
  type SessionRenewalLimit,
} from './http-rejections.ts'
import { createHttpSender, type HttpAuth, type SentKeys } from './http-sender.ts'

/** Only configured credentials are sent, never anything of our callers. */
export interface HttpChannelOptions extends SentKeys {
  readonly name: string
  readonly auth?: HttpAuth | undefined
  /** Shared with earlier sessions of the upstream. */
  readonly renewalLimit?: SessionRenewalLimit | undefined
  readonly clock: Clock
  readonly limits?: Partial<HttpLimits> | undefined
  log(text: string): void
}

interface HttpLimits {
  readonly messageBytes: number
  readonly connectMs: number
  /** Time limit for the end of the session, and for a cancellation. */
  readonly closeMs: number
  /** How long a server that refuses access may take to answer what it accepted. */
  readonly finishMs: number
}

export const CHANNEL_LIMITS: HttpLimits = {
  messageBytes: MESSAGE_LIMITS.bytes,
  connectMs: 10_000,
  closeMs: 2_000,
  finishMs: 10 * 60_000,
}

/** Wrong ids are reported no more often than this. */
const FOREIGN_MS = 60_000

/** Ended connections are reported no more often than this, and less often where it goes on. */
const BROKEN_MS = { least: 10_000, most: 60_000 }

export function openHttpChannel(options: HttpChannelOptions): OpenChannel {
  const renewalLimit = options.renewalLimit ?? createSessionRenewalLimit(options.clock)
  return async (events, signal) => {
    if (signal.aborted) throw new ChannelFailure({ kind: 'closed', reason: 'It was cancelled.' })
    return createHttpChannel({ ...options, renewalLimit }, events)
  }
}

function createHttpChannel(
  options: HttpChannelOptions & { renewalLimit: SessionRenewalLimit },
  events: ChannelEvents,
): Channel {
  const { clock, renewalLimit } = options
  const limits = { ...CHANNEL_LIMITS, ...options.limits }
  const client = createHttpClient({ clock, connectMs: limits.connectMs, useProxy: true, onBroken: onConnectionEnded })
  const exchanges = createExchanges()
  const discard = createDiscard(clock)
  const sender = createHttpSender({ ...options, client, discard, onEnd: end })
  const session = createHttpSession()
  const rejectionProbe = createRejectionProbe({
    renewalLimit,
    send: message => channel.send(message),
    ended: () => ended,
    onEnd: end,
  })
  const receive = guardMessages(events.onMessage, options.log)
  const gaps = createGapReporter(clock, () => events.onMissed?.())
  let ended: ChannelEnd | undefined
  let isOver = false
  let isHeardAlways = false
  let listeningSince: number | undefined
  let foreignAt = Number.NEGATIVE_INFINITY
  let broke = { at: Number.NEGATIVE_INFINITY, pauseMs: BROKEN_MS.least }

  /** Some servers end every idle connection, also one opened to check for this. */
  function onConnectionEnded(): void {
    const at = clock.now()
    const goneMs = at - broke.at
    if (isOver || goneMs < broke.pauseMs) return
    const goesOn = goneMs < 2 * BROKEN_MS.most
    broke = { at, pauseMs: goesOn ? Math.min(2 * broke.pauseMs, BROKEN_MS.most) : BROKEN_MS.least }
    events.onBroken?.()
  }

  /** For people who maintain the server; the caller learns that the request failed. */
  function onForeignAnswer(): void {
    if (clock.now() - foreignAt < FOREIGN_MS) return
    foreignAt = clock.now()
    options.log('It sent an answer with another id than that of the request, and it was dropped.')
  }

  function end(why: ChannelEnd): void {
    if (ended) return
    ended = why
    isOver = !isShut(why)
    gaps.stop()
    // Later, so that a request that failed for this reason reports its own error first.
    setImmediate(() => {
      if (isOver) cutOff()
      else finish(why.reason)
      events.onEnd(why)
    })
  }

  function cutOff(): void {
    isOver = true
    exchanges.closeAll()
    client.close()
  }

  /** Other open requests were accepted, and may still be answered. */
  function finish(reason: string): void {
    const cancel = clock.after(limits.finishMs, () => {
      for (const id of exchanges.closeAll()) events.onLost?.(id, reason)
    })
    exchanges.finish(() => {
      cancel()
      client.close()
    })
  }

  const incoming = createHttpIncoming({
    clock,
    exchanges,
    messageBytes: limits.messageBytes,
    discard,
    hasSession: () => session.id() !== undefined,
    listen: (lastEventId, signal) =>
      sender.send({ method: 'GET', headers: session.listenHeaders(lastEventId), signal }),
    isHeardAlways: () => isHeardAlways,
    onMessage: (message, of) => isOver || receive(message, of),
    onForeign: onForeignAnswer,
    onLost: (id, reason) => isOver || events.onLost?.(id, reason),
    onEnd: end,
    isEnded: () => ended !== undefined,
    onMissed: () => ended || gaps.missed(),
    onDoubt: rejectionProbe.probe,
  })

  function post(message: Message, exchange: Exchange, headers?: Readonly<Record<string, string>>) {
    return sender.send({
      method: 'POST',
      headers: session.addPostHeaders(headers ? onlyParameters(headers) : {}, message),
      body: JSON.stringify(message),
      signal: exchange.signal,
      onOut: exchange.onSent,
      answerMs: isCancellation(message) || isOurProbe(message) ? limits.closeMs : undefined,
    })
  }

  async function listenAlways(): Promise<void> {
    const exchange = exchanges.open(undefined)
    isHeardAlways = true
    const reason = await incoming.listenAlways(exchange, {
      onStream(isOpen) {
        listeningSince = isOpen ? clock.now() : undefined
      },
      onMissing: why => options.log(`Nothing is heard from it beside its answers for now: ${why}`),
    })
    isHeardAlways = false
    listeningSince = undefined
    exchange.close()
    if (!exchange.signal.aborted) options.log(`Nothing is heard from it beside its answers. ${reason}`)
  }

  /** The server knows of the cancellation, or does not read: the exchange need not stay open. */
  function abandonCancelled(message: Message): void {
    if (isCancellation(message) && 'params' in message) exchanges.giveUp(message.params?.requestId)
  }

  /**
   * Ends the session at the server. A failing session is left as it is: cancelled requests may still be in progress
   * behind a proxy that answered instead.
   */
  async function endSession(why: ChannelEnd | undefined): Promise<void> {
    if (session.id() === undefined || why?.kind === 'failing') return
    const exchange = exchanges.open(undefined)
    const cancel = clock.after(limits.closeMs, exchange.abandon)
    const request = { method: 'DELETE', headers: session.headers(), signal: exchange.signal } as const
    await sender.send(request).then(
      answer => discard(answer.body),
      () => {
        // A server that is gone has no session either.
      },
    )
    cancel()
    exchange.close()
  }

  const channel: Channel = {
    hasExchanges: true,
    pids: () => [],
    agreed: session.agreed,
    listeningSince: () => listeningSince,
    withdraw: exchanges.withdraw,
    async send(message, { signal, headers } = {}) {
      if (ended && (isOver || isRequest(message))) throw new SendFailure(ended.reason, { wasSent: 'no' })
      const id = isRequest(message) ? message.id : undefined
      const exchange = exchanges.open(id, signal)
      let isFollowed = false
      try {
        const answer = await post(message, exchange, headers)
        session.note(message, answer)
        const taken = incoming.take(answer, message, exchange)
        isFollowed = (taken instanceof Promise ? await taken : taken) === 'followed'
        rejectionProbe.onAccepted(message)
      } catch (error) {
        exchange.close()
        const answer = await rejectionProbe.explainFailure(error, message)
        if (!isOver) receive(answer, id)
      } finally {
        if (!isFollowed) exchange.close()
        abandonCancelled(message)
      }
      if (methodOf(message) === 'notifications/initialized') void listenAlways()
    },
    async close(why) {
      if (ended && !isOver && !(why && isShut(why))) return cutOff()
      if (ended) return
      if (why && isShut(why)) return end(why)
      await endSession(why)
      end({ kind: 'closed', reason: 'The connection was closed.' })
      await clock.breathe()
    },
  }
  return channel
}

function methodOf(message: Message): string | undefined {
  return 'method' in message ? message.method : undefined
}

function isCancellation(message: Message): boolean {
  return methodOf(message) === 'notifications/cancelled'
}

/** Callers may set no headers but repeated arguments. */
function onlyParameters(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase().startsWith('mcp-param-')))
}

/** The state shared by the requests of a channel; from 2026-07-28 on each request is independent. */
interface HttpSession {
  /** The server's session id; only before 2026-07-28, and optional. */
  id(): string | undefined
  agreed(version: string): void
  headers(): Record<string, string>
  addPostHeaders(headers: Record<string, string>, message: Message): Record<string, string>
  listenHeaders(lastEventId: string | undefined): Record<string, string>
  note(message: Message, answer: HttpAnswer): void
}

function createHttpSession(): HttpSession {
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

/** Repeats parts of the message, and the idempotency key, for proxies. */
function addRequestHeaders(headers: Record<string, string>, message: Request): void {
  Object.assign(headers, standardHeaders(message))
  const key = metaOf(message.params)[IDEMPOTENCY_META]
  if (typeof key === 'string') headers[IDEMPOTENCY_HEADER] = key
}

function isFirst(message: Message): boolean {
  return 'method' in message && message.method === 'initialize'
}
