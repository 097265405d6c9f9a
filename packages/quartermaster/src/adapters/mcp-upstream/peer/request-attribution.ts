import { type Cancellation, type Clock, createCancellation } from '../../../core/kernel/index.ts'
import { RpcError, SendFailure } from './channel.ts'
import type { Behind } from './session.ts'

export interface OpenRequest {
  readonly behind: Behind
  /** Aborts when its caller no longer waits. */
  left(): AbortSignal
  /** It waits for something that does not come. */
  fail(why: SendFailure): void
}

/** Maps server-initiated requests on a shared connection to the client call they belong to; MCP does not say. */
export interface RequestAttribution {
  /**
   * Tracks a caller's request. An answer after its cancellation is to be reported. It can be cancelled with the reason
   * why it waits in vain. Its owner may have given it a time.
   */
  attend<T>(
    behind: Behind,
    request: (onLate: () => void, vain: Cancellation) => Promise<T>,
    givenMs?: number,
  ): Promise<T>
  /** The same for our own requests: the server works on them, but its questions are about no caller. */
  attendOwn<T>(request: (onLate: () => void) => Promise<T>): Promise<T>
  /**
   * The requests that a server may mean, newest first, if all belong to one caller. A cancelled one is among them for
   * as long as the server may work on it.
   */
  meant(): readonly OpenRequest[] | 'several'
  underWay(): readonly OpenRequest[]
  /** Whether there is only one that it may mean. */
  isAlone(): boolean
  /** Whether there is none, not even of our own. */
  isAtRest(): boolean
  /** The server asks something; answers how to report that it has its answer. */
  asked(): () => void
  /** When it last waited for an answer: now, while it does. */
  owedAt(): number
  busy(): number
  /** Since when the oldest request is open. */
  workingSince(): number | undefined
  /** The longest time given to any open request; zero without any. */
  givenMs(): number
  usedAt(): number
}

export function createRequestAttribution(clock: Clock): RequestAttribution {
  const underWay = new Map<Attended, number>()
  const cancelled = createCancelledRequests(clock)
  const own = createOwnRequests(clock)
  let used = clock.now()
  let questions = 0
  let owed = clock.now()

  function leave(request: Attended): void {
    underWay.delete(request)
    used = clock.now()
    request.leave()
    if (!request.isAnswered()) request.onAnswer(cancelled.add(request.behind.caller))
  }

  return {
    async attend(behind, send, givenMs = 0) {
      const request = createAttended(behind, givenMs)
      underWay.set(request, clock.now())
      try {
        const result = await send(request.answer, request.vain)
        request.answer()
        return result
      } catch (error) {
        if (!mayGoOn(error)) request.answer()
        throw error
      } finally {
        leave(request)
      }
    },
    attendOwn: own.attend,
    meant() {
      const requests = [...underWay.keys()].toReversed()
      const [newest] = requests
      if (!newest) return []
      const isOther = (caller: string) => caller !== newest.behind.caller
      const areSeveral = requests.some(({ behind }) => isOther(behind.caller)) || cancelled.callers().some(isOther)
      return areSeveral ? 'several' : requests
    },
    underWay: () => [...underWay.keys()],
    isAlone: () => underWay.size === 1 && cancelled.callers().length === 0,
    isAtRest: () => underWay.size === 0 && cancelled.callers().length === 0 && own.areDone(),
    asked() {
      questions++
      return () => {
        questions--
        owed = clock.now()
      }
    },
    owedAt: () => (questions > 0 ? clock.now() : owed),
    busy: () => underWay.size + own.count(),
    workingSince: () => earlier(underWay.values().next().value, own.since()),
    givenMs() {
      let longest = 0
      for (const request of underWay.keys()) longest = Math.max(longest, request.givenMs)
      return longest
    },
    usedAt: () => used,
  }
}

/** Our own requests, such as listings. */
interface OwnRequests {
  attend: RequestAttribution['attendOwn']
  count(): number
  /** Since when the oldest is open. */
  since(): number | undefined
  /** Whether there is none, nor a cancelled one that may be worked on. */
  areDone(): boolean
}

function createOwnRequests(clock: Clock): OwnRequests {
  const underWay = new Map<symbol, number>()
  const cancelled = createCancelledRequests(clock)
  return {
    async attend(send) {
      const request = Symbol('own')
      let isAnswered = false
      let answer = (): void => void (isAnswered = true)
      underWay.set(request, clock.now())
      try {
        return await send(() => answer())
      } catch (error) {
        if (mayGoOn(error) && !isAnswered) answer = cancelled.add(OURSELVES)
        throw error
      } finally {
        underWay.delete(request)
      }
    },
    count: () => underWay.size,
    since: () => underWay.values().next().value,
    areDone: () => underWay.size === 0 && cancelled.callers().length === 0,
  }
}

const OURSELVES = 'ourselves'

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}

interface Attended extends OpenRequest {
  readonly vain: Cancellation
  readonly givenMs: number
  leave(): void
  /** The server has answered it, and no longer works on it. */
  answer(): void
  isAnswered(): boolean
  onAnswer(tell: () => void): void
}

function createAttended(behind: Behind, givenMs: number): Attended {
  // Most are never asked about, and a signal costs more than the rest of this.
  let controller: AbortController | undefined
  let hasLeft = false
  let isAnswered = false
  let tell = () => {}
  const vain = createCancellation()
  return {
    behind,
    vain,
    givenMs,
    fail: vain.cancel,
    left() {
      controller ??= new AbortController()
      if (hasLeft) controller.abort(LEFT)
      return controller.signal
    },
    leave() {
      hasLeft = true
      controller?.abort(LEFT)
    },
    answer() {
      if (isAnswered) return
      isAnswered = true
      tell()
    },
    isAnswered: () => isAnswered,
    onAnswer(listener) {
      tell = listener
    },
  }
}

const LEFT = new Error('Its caller no longer waits for it.')

/** Whether a server may still work on what ended like this: it was cancelled, or its answer got lost. */
function mayGoOn(error: unknown): boolean {
  if (error instanceof RpcError) return false
  return !(error instanceof SendFailure) || error.wasSent === 'maybe'
}

/** The callers of cancelled requests that a server may still work on. */
interface CancelledRequests {
  /** A request is cancelled; answers how to report that the server answered after all. */
  add(caller: string): () => void
  callers(): readonly string[]
}

/**
 * How long a server may work on a cancelled request. A server that obeys never answers it, and meanwhile its questions
 * to others are declined.
 */
export const CANCELLED_WORK_MS = 2 * 60_000
/** Callers that are told apart. */
export const MOST_CANCELLED = 200

/** Stands for callers beyond that limit: no caller has this name. */
const OTHER_CALLERS = ''

interface Requests {
  count: number
  until: number
}

function createCancelledRequests(clock: Clock): CancelledRequests {
  /** In the order in which they are forgotten. */
  const byCaller = new Map<string, Requests>()

  function forgetOld(): void {
    for (const [caller, { until }] of byCaller) {
      if (until > clock.now()) return
      byCaller.delete(caller)
    }
  }

  return {
    add(caller) {
      forgetOld()
      const name = byCaller.has(caller) || byCaller.size < MOST_CANCELLED ? caller : OTHER_CALLERS
      const requests = byCaller.get(name) ?? { count: 0, until: 0 }
      requests.count++
      requests.until = clock.now() + CANCELLED_WORK_MS
      byCaller.delete(name)
      byCaller.set(name, requests)
      return () => {
        if (--requests.count === 0 && byCaller.get(name) === requests) byCaller.delete(name)
      }
    },
    callers() {
      forgetOld()
      return [...byCaller.keys()]
    },
  }
}
