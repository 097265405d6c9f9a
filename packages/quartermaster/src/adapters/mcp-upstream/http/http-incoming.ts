import type { Cancel, CancelSignal, Clock } from '../../../core/kernel/index.ts'
import {
  BodyTooLong,
  type Discard,
  type HttpAnswer,
  headerOf,
  isGood,
  readShortText,
  reasonOf,
  TAIL_MS,
  takeText,
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
import { createStreamOpener, type StreamEvents, type WantedStream } from './stream-opener.ts'

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

/** `followed`: it is a stream, and closes the exchange itself. */
type Taken = 'over' | 'followed'

const toOver = (): Taken => 'over'

/** Takes what comes back. */
export interface HttpIncoming {
  /** Throws, or rejects with, a `SendFailure`. */
  take(answer: HttpAnswer, message: Message, exchange: Exchange): Taken | Promise<Taken>
  /** Hears what a legacy server says beside its answers, over every break of the stream. Resolves to why no more is heard. */
  listenAlways(exchange: Exchange, events: StreamEvents): Promise<string>
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

  /** Nothing is waited for that is there already: every call comes by here. */
  function takeJson(answer: HttpAnswer, id: Id, exchange: Exchange): undefined | Promise<void> {
    const text = takeText(answer.body, maxBytes)
    if (typeof text === 'string') return takeAnswer(text, id, exchange)
    return text.then(
      whole => takeAnswer(whole, id, exchange),
      error => {
        if (!(error instanceof BodyTooLong)) throw notTaken(error, answer.status)
        deliver(refusedAnswer(id, `It is longer than ${maxBytes} bytes.`))
      },
    )
  }

  function takeAnswer(text: string, id: Id, exchange: Exchange): undefined | Promise<void> {
    const lookForIt = () => {
      if (!exchange.isAnswered()) onLost(id, 'The server answered something that is no answer to the request.')
    }
    const delivering = deliverOwn(text, id, id)
    if (delivering) return delivering.then(lookForIt)
    lookForIt()
    return undefined
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
    const failure = isGood(answer) ? unreadable(answer) : (await refusalIn(answer)).failure
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

  function takeResponse(answer: HttpAnswer, message: Request, exchange: Exchange): Taken | Promise<Taken> {
    const type = mediaType(answer)
    if (type === JSON_TYPE) return takeJson(answer, message.id, exchange)?.then(toOver) ?? 'over'
    if (type === EVENTS) {
      void follow(answer, message, exchange)
      return 'followed'
    }
    discard(answer.body)
    throw unreadable(answer)
  }

  return {
    take(answer, message, exchange) {
      if (!isGood(answer)) return refused(answer, message).then(toOver)
      if (isRequest(message) && answer.status !== 202) return takeResponse(answer, message, exchange)
      discard(answer.body)
      if (isRequest(message) && !deps.isHeardAlways())
        onLost(message.id, 'The server took the request in, and does not answer it.')
      return 'over'
    },
    listenAlways: (exchange, events) =>
      followed({
        open: createStreamOpener({
          listen: wanted => listen({ ...wanted, exchange }),
          signal: exchange.signal,
          onMissed,
          ...events,
        }),
        onData: deliverAll,
        isOver: () => false,
        isEndless: true,
        signal: exchange.signal,
      }).then(({ reason }) => reason),
  }
}

/** A stream that is asked for, in the exchange that it is for. */
interface Wanted extends Partial<WantedStream> {
  readonly exchange: Exchange
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

function notTaken(cause: unknown, status: number): SendFailure {
  const { reason, said } = reasonOf(cause)
  return new SendFailure(`The server's answer cannot be taken: ${reason}.`, { wasSent: 'maybe', status, said, cause })
}

/** What it calls its answer is its own word, and may be anything. */
function unreadable(answer: HttpAnswer): SendFailure {
  const { status } = answer
  const type = mediaType(answer)
  if (type === undefined || WELL_KNOWN.has(type))
    return new SendFailure(`The server answered with ${type ?? 'nothing'} instead of JSON.`, {
      wasSent: 'maybe',
      status,
    })
  // All of it and as it was written, so that a secret in it is known for one; whoever masks it shortens it.
  const said = headerOf(answer, 'content-type')
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
