import { messageOf } from '../../../contracts/index.ts'
import type { Cancel, CancelSignal, Clock } from '../../../core/kernel/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import {
  BodyTooLong,
  type Discard,
  type HttpAnswer,
  headerOf,
  isGood,
  MOST_SAID,
  readShortText,
  readText,
  reasonOf,
  TAIL_MS,
} from '../../http-client/index.ts'
import { claimedVersion, type Id, isRequest, isResponse, type Message, type Request } from '../../mcp-wire/index.ts'
import { type ChannelEnd, SendFailure } from '../session/channel.ts'
import { takeMessages } from '../session/incoming-message.ts'
import { refusedAnswer } from '../session/unreadable-answer.ts'
import { type EventFollower, followEvents } from './event-follower.ts'
import { createEventTurns, type StreamEnd } from './event-turns.ts'
import { isTurnedAway, type SessionAnswer } from './http-doubts.ts'
import type { Exchange, Exchanges } from './http-exchanges.ts'
import { type Refusal, readRefusal } from './http-failure.ts'

export interface HttpIncomingDeps {
  readonly clock: Clock
  readonly exchanges: Exchanges
  readonly messageBytes: number
  readonly discard: Discard
  hasSession(): boolean
  /** Whether the server may answer beside the exchange of a request, which some do against the specification. */
  isHeardAlways(): boolean
  /** Asks for the stream that a legacy server speaks on, or for the rest of one that broke. */
  listen(lastEventId: string | undefined, signal: CancelSignal): Promise<HttpAnswer>
  /** `of`: the request in whose exchange it came. */
  onMessage(message: Message, of: Id | undefined): void
  /** An answer came for one request with the id of another, or with none. */
  onForeign(): void
  onLost(id: Id, reason: string): void
  onEnd(end: ChannelEnd): void
  /** Whether nothing new is sent any more. */
  isEnded(): boolean
  /** The stream that a legacy server speaks on is there again, and does not begin where the one before ended. */
  onMissed(): void
  /** A stream was refused in a way that may be about us. */
  onDoubt(): Promise<SessionAnswer>
}

/** Takes what comes back. */
export interface HttpIncoming {
  /** `followed`: it is a stream, and closes the exchange itself. Rejects with a `SendFailure`. */
  take(answer: HttpAnswer, message: Message, exchange: Exchange): Promise<'over' | 'followed'>
  /** Hears what a legacy server says beside its answers, over every break of the stream. Resolves to why no more is heard. */
  listenAlways(exchange: Exchange, events: StreamEvents): Promise<string>
}

export interface StreamEvents {
  /** Whether it is there, each time that it is asked for. */
  onStream(isOpen: boolean): void
  /** It was asked for again and again, and is asked for still. Told once until it is there. */
  onMissing(reason: string): void
}

/** An error's text is looked at for what it means. */
const ERROR_BYTES = 64 * 1024

export function createHttpIncoming(deps: HttpIncomingDeps): HttpIncoming {
  const {
    clock,
    exchanges,
    messageBytes: maxBytes,
    discard,
    hasSession,
    onMessage,
    onForeign,
    onLost,
    onEnd,
    onMissed,
    onDoubt,
  } = deps

  const turns = createEventTurns()

  function deliver(message: Message, of?: Id): void {
    if (isResponse(message)) exchanges.answered(message.id)
    onMessage(message, of)
  }

  /**
   * On the stream of no request, for that is where some legacy servers answer what they took in with 202. Whose answer it is only
   * its id can tell there.
   */
  function deliverAll(text: string): undefined | Promise<void> {
    return takeMessages(text, messages => messages.forEach(message => deliver(message)))
  }

  /**
   * In the exchange of a request. A server that mixes up its ids would have one caller get what is another's, so no answer counts
   * there but the request's own.
   */
  function deliverOwn(text: string, id: Id, asked?: Id): undefined | Promise<void> {
    const deliverOne = (message: Message) => {
      if (isResponse(message) && message.id !== id) onForeign()
      else deliver(message, id)
    }
    return takeMessages(text, messages => messages.forEach(deliverOne), asked)
  }

  async function refusalIn(answer: HttpAnswer, message?: Message): Promise<Refusal> {
    // A body that breaks off, or does not end, says no less than its status does.
    const text = await readShortText(answer.body, { clock, maxBytes: ERROR_BYTES }).catch(() => '')
    const refusal = readRefusal({ message, answer, text, hasSession: hasSession(), now: clock.now() })
    if (refusal.end) onEnd(refusal.end)
    return refusal
  }

  async function refused(answer: HttpAnswer, message: Message): Promise<void> {
    const { response, failure } = await refusalIn(answer, message)
    if (!response) throw failure
    deliver(response)
  }

  async function takeJson(answer: HttpAnswer, id: Id, exchange: Exchange): Promise<void> {
    let text: string
    try {
      text = await readText(answer.body, maxBytes)
    } catch (error) {
      if (error instanceof BodyTooLong) return deliver(refusedAnswer(id, `It is longer than ${maxBytes} bytes.`))
      throw notTaken(error, answer.status)
    }
    const delivering = deliverOwn(text, id, id)
    if (delivering) await delivering
    if (!exchange.isAnswered()) onLost(id, 'The server answered something that is no answer to the request.')
  }

  async function listen(wanted: Wanted): Promise<HttpAnswer | undefined> {
    try {
      return await opened(wanted)
    } catch (error) {
      // Whoever lets everything else in means the stream, and would go on to.
      if (isTurnedAway(error) && (await onDoubt()) === 'answered' && !wanted.isKnown) return undefined
      throw error
    }
  }

  async function opened(wanted: Wanted): Promise<HttpAnswer | undefined> {
    const { lastEventId, exchange, isKnown } = wanted
    const answer = await deps.listen(lastEventId, exchange.signal)
    const type = mediaType(answer)
    if (isGood(answer) && type === EVENTS) return answer
    if (isGood(answer)) discard(answer.body)
    const failure = isGood(answer) ? unreadable(type, answer.status) : (await refusalIn(answer)).failure
    if (isKnown || isForLater(failure) || isTurnedAway(failure)) throw failure
    return undefined
  }

  /** Whoever waits hears why nothing more comes, whatever the cause. */
  function followed(follower: Omit<EventFollower, 'turns' | 'clock' | 'maxBytes'>): Promise<StreamEnd> {
    return followEvents({ ...follower, turns, clock, maxBytes }).catch(() => NOT_FOLLOWED)
  }

  /** Messages on the way to an answer, and the answer. */
  async function follow(first: HttpAnswer, { id, method, params }: Request, exchange: Exchange): Promise<void> {
    let cancel: Cancel | undefined
    const { kind, reason } = await followed({
      first,
      // There is nothing to be resumed from 2026-07-28 on.
      open: async lastEventId => (claimedVersion(params) === undefined ? listen({ lastEventId, exchange }) : undefined),
      onData(text) {
        const ended = () => {
          if (exchange.isAnswered()) cancel ??= clock.after(TAIL_MS, exchange.abandon)
        }
        const delivering = deliverOwn(text, id)
        if (delivering) return delivering.then(ended)
        ended()
        return undefined
      },
      // Where nobody is let in any more, nobody takes it up again either.
      isOver: () => exchange.isAnswered() || deps.isEnded(),
      isEndless: false,
      signal: exchange.signal,
    })
    cancel?.()
    if (!exchange.isAnswered() && !exchange.signal.aborted) {
      // The next answer would be the same. Whoever listens does not wait for one, and may hear what comes next.
      if (kind === 'garbled' && method !== 'subscriptions/listen') deliver(refusedAnswer(id, reason))
      else onLost(id, reason)
    }
    // What could not be followed may still go on.
    exchange.abandon()
    exchange.close()
  }

  /** Opens it however often it breaks. What happened in between is told by a server that goes on from an event, and by no other. */
  function opener(exchange: Exchange, { onStream, onMissing }: StreamEvents): EventFollower['open'] {
    let isKnown = false
    let tries = 0
    /** An event from which the server does not go on: it may have forgotten it. */
    let forgotten: string | undefined
    /** In a row. */
    let failures = 0
    let lockedOut = 0
    /** Answers that were no stream, to what was asked for after an event. One that is away does not answer, and keeps its place. */
    let unresumed = 0

    function failed(error: unknown, lastEventId: string | undefined): void {
      unresumed = lastEventId !== undefined && isAnswered(error) ? unresumed + 1 : 0
      if (isRefusal(error) || unresumed >= MOST_UNRESUMED) forgotten = lastEventId
      lockedOut = isLockedOut(error) ? lockedOut + 1 : 0
      if (++failures === TOLD_AFTER && !exchange.signal.aborted) onMissing(messageOf(error))
    }

    return async last => {
      const isGap = tries++ > 0
      const lastEventId = last === forgotten ? undefined : last
      onStream(false)
      const wanted = { lastEventId, exchange, isKnown: isKnown && lockedOut < MOST_LOCKED_OUT }
      const answer = await listen(wanted).catch(error => {
        failed(error, lastEventId)
        throw error
      })
      failures = 0
      lockedOut = 0
      unresumed = 0
      onStream(answer !== undefined)
      isKnown ||= answer !== undefined
      if (answer && isGap && lastEventId === undefined) onMissed()
      return answer
    }
  }

  return {
    async take(answer, message, exchange) {
      const type = mediaType(answer)
      if (!isGood(answer)) await refused(answer, message)
      else if (!isRequest(message)) discard(answer.body)
      else if (answer.status === 202) {
        discard(answer.body)
        if (!deps.isHeardAlways()) onLost(message.id, 'The server took the request in, and does not answer it.')
      } else if (type === JSON_TYPE) await takeJson(answer, message.id, exchange)
      else if (type === EVENTS) {
        void follow(answer, message, exchange)
        return 'followed'
      } else {
        discard(answer.body)
        throw unreadable(type, answer.status)
      }
      return 'over'
    },
    listenAlways: (exchange, events) =>
      followed({
        open: opener(exchange, events),
        onData: deliverAll,
        isOver: () => false,
        isEndless: true,
        signal: exchange.signal,
      }).then(({ reason }) => reason),
  }
}

/** A stream that is asked for. */
interface Wanted {
  /** After which event. */
  readonly lastEventId: string | undefined
  readonly exchange: Exchange
  /**
   * Whether the server has opened such a stream before. Then no answer says that there is none: a proxy says 404 and the like in
   * its place while it restarts, and whoever believed that would hear nothing more for the rest of the session.
   */
  readonly isKnown?: boolean | undefined
}

const NOT_FOLLOWED: StreamEnd = { kind: 'broken', reason: 'The stream could not be followed.' }
const EVENTS = 'text/event-stream'
const JSON_TYPE = 'application/json'

function mediaType(answer: HttpAnswer): string | undefined {
  const type = headerOf(answer, 'content-type')
  return type === JSON_TYPE ? type : type?.split(';')[0]?.trim().toLowerCase()
}

function isForLater({ status = 0, retryAfterMs }: SendFailure): boolean {
  return status >= 500 || retryAfterMs !== undefined
}

function isRefusal(error: unknown): boolean {
  const { status = 0 } = error instanceof SendFailure ? error : {}
  return status >= 400 && status < 500
}

/** Whether the server answered by HTTP, whatever it says. While it is away, a proxy before it does. */
function isAnswered(error: unknown): boolean {
  const { status } = error instanceof SendFailure ? error : {}
  return status !== undefined && !OF_PROXIES.has(status)
}

const OF_PROXIES: ReadonlySet<number> = new Set([502, 503, 504])

/** Refused for who we are, by what may want a person to change that. */
function isLockedOut(error: unknown): boolean {
  const { status } = error instanceof SendFailure ? error : {}
  return status === 401 || status === 403
}

/** Whoever lets everything else in and refuses this one so often means it. With each 401 another token would be had for it. */
const MOST_LOCKED_OUT = 5
/** Whoever fails so often to go on from an event may never be able to, and would go on without it: that is found out by asking. */
const MOST_UNRESUMED = 2
/** What is over in a moment is nobody's concern. */
const TOLD_AFTER = 5

function notTaken(cause: unknown, status: number): SendFailure {
  const { reason, said } = reasonOf(cause)
  return new SendFailure(`The server's answer cannot be taken: ${reason}.`, { wasSent: 'maybe', status, said, cause })
}

/** What it calls its answer is its own word, and may be anything. */
function unreadable(type: string | undefined, status: number): SendFailure {
  if (type === undefined || WELL_KNOWN.has(type))
    return new SendFailure(`The server answered with ${type ?? 'nothing'} instead of JSON.`, {
      wasSent: 'maybe',
      status,
    })
  const said = excerptOf(type, MOST_SAID)
  return new SendFailure('The server answered with something else than JSON.', { wasSent: 'maybe', status, said })
}

const WELL_KNOWN = new Set([
  'text/html',
  'text/plain',
  'text/xml',
  'application/xml',
  'application/xhtml+xml',
  'application/octet-stream',
  'application/problem+json',
])
