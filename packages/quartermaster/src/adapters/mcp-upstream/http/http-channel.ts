import type { Clock } from '../../../core/kernel/index.ts'
import { createDiscard, createHttpClient } from '../../http-client/index.ts'
import { isRequest, type Message } from '../../mcp-wire/index.ts'
import {
  type Channel,
  type ChannelEnd,
  type ChannelEvents,
  ChannelFailure,
  isShut,
  type OpenChannel,
  SendFailure,
} from '../session/channel.ts'
import { createGapTeller } from '../session/gap-teller.ts'
import { guardMessages } from '../session/incoming-message.ts'
import { MESSAGE_LIMITS } from '../session/message-limits.ts'
import type { HttpAuth } from './http-auth.ts'
import { createDoubts, isOurLook } from './http-doubts.ts'
import { createExchanges, type Exchange } from './http-exchanges.ts'
import { createHttpIncoming } from './http-incoming.ts'
import { createHttpSender } from './http-sender.ts'
import { createHttpSession } from './http-session.ts'
import type { SentKeys } from './key-settings.ts'
import { createSessionTrials, type SessionTrials } from './session-trials.ts'

/** Only what the configuration wants is sent along: nothing of whoever calls us is ever among it. */
export interface HttpChannelOptions extends SentKeys {
  /** What the upstream is called, for messages. */
  readonly name: string
  readonly auth?: HttpAuth | undefined
  /** Of the sessions before; those of one way when absent. */
  readonly trials?: SessionTrials | undefined
  readonly clock: Clock
  readonly limits?: Partial<HttpLimits> | undefined
  /** A line for people who look after the upstream. */
  log(text: string): void
}

export interface HttpLimits {
  /** The most that an answer, or one event of a stream, may be. */
  readonly messageBytes: number
  readonly connectMs: number
  /** How long the farewell may take, and word that a request is given up. */
  readonly closeMs: number
  /** How long a server that lets nobody in any more may take to answer what it has let in. */
  readonly finishMs: number
}

export const CHANNEL_LIMITS: HttpLimits = {
  messageBytes: MESSAGE_LIMITS.bytes,
  connectMs: 10_000,
  closeMs: 2_000,
  finishMs: 10 * 60_000,
}

/** A server that mixes up its ids may do so with every answer, and is told of no more often than this. */
const FOREIGN_MS = 60_000

/** A server that ends connections is said to no more often than this, and ever more seldom where it goes on. */
const BROKEN_MS = { least: 10_000, most: 60_000 }

/** A way to a server by streamable HTTP, of either era. */
export function openHttpChannel(options: HttpChannelOptions): OpenChannel {
  const trials = options.trials ?? createSessionTrials(options.clock)
  return async (events, signal) => {
    if (signal.aborted) throw new ChannelFailure({ kind: 'closed', reason: 'It was given up.' })
    return createHttpChannel({ ...options, trials }, events)
  }
}

function createHttpChannel(options: HttpChannelOptions & { trials: SessionTrials }, events: ChannelEvents): Channel {
  const { clock, trials } = options
  const limits = { ...CHANNEL_LIMITS, ...options.limits }
  const client = createHttpClient({ clock, connectMs: limits.connectMs, useProxy: true, onBroken: broken })
  const exchanges = createExchanges()
  const discard = createDiscard(clock)
  const sender = createHttpSender({ ...options, client, discard, onEnd: end })
  const session = createHttpSession()
  const doubts = createDoubts({ trials, send: message => channel.send(message), ended: () => ended, onEnd: end })
  const receive = guardMessages(events.onMessage, options.log)
  const gaps = createGapTeller(clock, () => events.onMissed?.())
  /** Nothing new is sent from then on. */
  let ended: ChannelEnd | undefined
  /** Nothing is heard any more either. */
  let isOver = false
  let isHeardAlways = false
  let listeningSince: number | undefined
  let foreignAt = Number.NEGATIVE_INFINITY
  let broke = { at: Number.NEGATIVE_INFINITY, pauseMs: BROKEN_MS.least }

  /** Some servers end every connection that rests for a moment, also that by which they were looked at for this. */
  function broken(): void {
    const at = clock.now()
    const goneMs = at - broke.at
    if (isOver || goneMs < broke.pauseMs) return
    const goesOn = goneMs < 2 * BROKEN_MS.most
    broke = { at, pauseMs: goesOn ? Math.min(2 * broke.pauseMs, BROKEN_MS.most) : BROKEN_MS.least }
    events.onBroken?.()
  }

  /** The request that it came for fails, and whoever made that is told. This is for whoever looks after the server. */
  function foreign(): void {
    if (clock.now() - foreignAt < FOREIGN_MS) return
    foreignAt = clock.now()
    options.log('It sent an answer with another id than that of the request, and nobody was given it.')
  }

  function end(why: ChannelEnd): void {
    if (ended) return
    ended = why
    isOver = !isShut(why)
    gaps.stop()
    // Afterwards, so that a request that failed for this very reason can say for itself what it knows.
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

  /** What others have under way was let in, and is nothing to be given up for what became of somebody's request. */
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
    onForeign: foreign,
    onLost: (id, reason) => isOver || events.onLost?.(id, reason),
    onEnd: end,
    isEnded: () => ended !== undefined,
    onMissed: () => ended || gaps.missed(),
    onDoubt: doubts.look,
  })

  function post(message: Message, exchange: Exchange, headers?: Readonly<Record<string, string>>) {
    return sender.send({
      method: 'POST',
      headers: session.addPostHeaders(headers ? onlyParameters(headers) : {}, message),
      body: JSON.stringify(message),
      signal: exchange.signal,
      onOut: exchange.out,
      answerMs: isCancellation(message) || isOurLook(message) ? limits.closeMs : undefined,
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

  /** The server was told, or does not listen; the exchange need not stay open for an answer that goes nowhere. */
  function giveUpCancelled(message: Message): void {
    if (isCancellation(message) && 'params' in message) exchanges.giveUp(message.params?.requestId)
  }

  /**
   * Tells the server that nobody comes back, who may end whatever it does for us by that. One that fails is left without a word:
   * what was given up, for a proxy had answered in its place, may still be at work behind that.
   */
  async function leave(why: ChannelEnd | undefined): Promise<void> {
    if (session.id() === undefined || why?.kind === 'failing') return
    const exchange = exchanges.open(undefined)
    const cancel = clock.after(limits.closeMs, exchange.abandon)
    const request = { method: 'DELETE', headers: session.headers(), signal: exchange.signal } as const
    await sender.send(request).then(
      answer => discard(answer.body),
      () => {
        // A server that is gone has forgotten us already.
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
        doubts.taken(message)
      } catch (error) {
        exchange.close()
        const answer = await doubts.failed(error, message)
        if (!isOver) receive(answer, id)
      } finally {
        if (!isFollowed) exchange.close()
        giveUpCancelled(message)
      }
      if (methodOf(message) === 'notifications/initialized') void listenAlways()
    },
    async close(why) {
      if (ended && !isOver && !(why && isShut(why))) return cutOff()
      if (ended) return
      if (why && isShut(why)) return end(why)
      await leave(why)
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

/** Arguments may be repeated in headers; nothing else of a header is a caller's to say. */
function onlyParameters(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase().startsWith('mcp-param-')))
}
