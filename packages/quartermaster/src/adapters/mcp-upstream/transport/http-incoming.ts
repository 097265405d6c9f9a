import { type Cancel, type CancelSignal, type Clock, createCancellation } from '../../../core/kernel/index.ts'
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
import {
  claimedVersion,
  type Id,
  isRequest,
  isResponse,
  keyOf,
  type Message,
  type Request,
} from '../../mcp-wire/index.ts'
import { type ChannelEnd, refusedAnswer, SendFailure } from '../peer/channel.ts'
import { takeMessages } from '../peer/incoming-message.ts'
import {
  createEventTurns,
  createStreamOpener,
  type EventFollower,
  followEvents,
  type StreamEnd,
  type StreamEvents,
  type WantedStream,
} from './event-stream.ts'
import { type Refusal, readRefusal } from './http-failure.ts'
import { isTurnedAway, type SessionAnswer } from './http-rejections.ts'

interface HttpIncomingDeps {
  readonly clock: Clock
  readonly exchanges: Exchanges
  readonly messageBytes: number
  readonly discard: Discard
  hasSession(): boolean
  /** Whether the server may answer outside of the request's exchange, as some do against the specification. */
  isHeardAlways(): boolean
  /** Requests a legacy server's stream, or the rest of a broken one. */
  listen(lastEventId: string | undefined, signal: CancelSignal): Promise<HttpAnswer>
  onMessage(message: Message, of: Id | undefined): void
  onForeign(): void
  onLost(id: Id, reason: string): void
  onEnd(end: ChannelEnd): void
  isEnded(): boolean
  /** A legacy server's stream is open again, but not from where it ended. */
  onMissed(): void
  onDoubt(): Promise<SessionAnswer>
}

/** `followed`: a stream, which closes the exchange itself. */
type AnswerHandling = 'over' | 'followed'

const toOver = (): AnswerHandling => 'over'

interface HttpIncoming {
  take(answer: HttpAnswer, message: Message, exchange: Exchange): AnswerHandling | Promise<AnswerHandling>
  /** Follows a legacy server's stream across interruptions. Resolves to why it ended. */
  listenAlways(exchange: Exchange, events: StreamEvents): Promise<string>
}

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
   * For a stream that belongs to no request: some legacy servers answer there what they accepted with 202. Only the
   * id tells what is answered.
   */
  function deliverAll(text: string): undefined | Promise<void> {
    return takeMessages(text, messages => messages.forEach(message => deliver(message)))
  }

  /**
   * In the exchange of a request only its own answer is accepted: a server that mixes up its ids would give one
   * caller another's answer.
   */
  function deliverOwn(text: string, id: Id, asked?: Id): undefined | Promise<void> {
    const deliverOne = (message: Message) => {
      if (isResponse(message) && message.id !== id) onForeign()
      else deliver(message, id)
    }
    return takeMessages(text, messages => messages.forEach(deliverOne), asked)
  }

  async function refusalIn(answer: HttpAnswer, message?: Message): Promise<Refusal> {
    // Without a readable body the status decides.
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

  /** Synchronous where the body is there: on the path of every call. */
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
      // A server that accepts all else has no such stream.
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

  /** Never rejects. */
  function followed(follower: Omit<EventFollower, 'turns' | 'clock' | 'maxBytes'>): Promise<StreamEnd> {
    return followEvents({ ...follower, turns, clock, maxBytes }).catch(() => NOT_FOLLOWED)
  }

  async function follow(first: HttpAnswer, { id, method, params }: Request, exchange: Exchange): Promise<void> {
    let cancel: Cancel | undefined
    const { kind, reason } = await followed({
      first,
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
      isOver: () => exchange.isAnswered() || deps.isEnded(),
      isEndless: false,
      signal: exchange.signal,
    })
    cancel?.()
    if (!exchange.isAnswered() && !exchange.signal.aborted) {
      // A garbled answer would be the same again. A subscription does not wait for one, and may receive the next
      // event.
      if (kind === 'garbled' && method !== 'subscriptions/listen') deliver(refusedAnswer(id, reason))
      else onLost(id, reason)
    }
    // A stream that could not be followed may still be open.
    exchange.abandon()
    exchange.close()
  }

  function takeResponse(
    answer: HttpAnswer,
    message: Request,
    exchange: Exchange,
  ): AnswerHandling | Promise<AnswerHandling> {
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

/** The content type is the server's own text, and may be anything. */
function unreadable(answer: HttpAnswer): SendFailure {
  const { status } = answer
  const type = mediaType(answer)
  if (type === undefined || WELL_KNOWN.has(type))
    return new SendFailure(`The server answered with ${type ?? 'nothing'} instead of JSON.`, {
      wasSent: 'maybe',
      status,
    })
  // Unshortened, so that a secret in it is recognised; masking shortens it.
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

export interface Exchange {
  readonly id: Id | undefined
  readonly signal: CancelSignal
  isAnswered(): boolean
  readonly onSent: () => void
  abandon(): void
  close(): void
}

interface Exchanges {
  open(id: Id | undefined, signal?: CancelSignal): Exchange
  /** An answer came. */
  answered(id: Id | null): void
  giveUp(id: unknown): void
  /** Cancels an exchange whose request was not sent yet, and answers whether it did. */
  withdraw(id: Id): boolean
  /** Cancels exchanges without an expected answer, and calls back when the rest is closed. */
  finish(onFinished: () => void): void
  /** Cancels all, and answers the unanswered requests. */
  closeAll(): readonly Id[]
}

/** One signal each: combined signals are kept for as long as the longest-lived source. */
export function createExchanges(): Exchanges {
  const open = new Set<Exchange>()
  const waiting = new Map<string, Exchange>()
  const unsent = new Set<Exchange>()
  let onFinished: (() => void) | undefined
  return {
    open(id, signal) {
      const { signal: own, cancel } = createCancellation()
      const stop = () => cancel(new Error('It was cancelled.'))
      const key = id === undefined ? undefined : keyOf(id)
      const exchange: Exchange = {
        id,
        signal: own,
        onSent: () => void unsent.delete(exchange),
        isAnswered: () => key === undefined || waiting.get(key) !== exchange,
        abandon: stop,
        close() {
          open.delete(exchange)
          unsent.delete(exchange)
          if (key !== undefined && waiting.get(key) === exchange) waiting.delete(key)
          signal?.removeEventListener('abort', stop)
          if (open.size === 0) onFinished?.()
        },
      }
      open.add(exchange)
      unsent.add(exchange)
      if (key !== undefined) waiting.set(key, exchange)
      if (signal?.aborted) stop()
      signal?.addEventListener('abort', stop, { once: true })
      return exchange
    },
    answered: id => void waiting.delete(keyOf(id)),
    giveUp: id => waiting.get(keyOf(id))?.abandon(),
    withdraw(id) {
      const exchange = waiting.get(keyOf(id))
      if (!exchange || !unsent.delete(exchange)) return false
      exchange.abandon()
      return true
    },
    finish(tell) {
      onFinished = tell
      for (const { id, abandon } of open) if (id === undefined) abandon()
      if (open.size === 0) tell()
    },
    closeAll() {
      const lost = [...waiting.values()].flatMap(({ id }) => (id === undefined ? [] : [id]))
      for (const { abandon } of open) abandon()
      return lost
    },
  }
}
