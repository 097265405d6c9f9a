import { type Cancellation, type Clock, createCancellation } from '../../../core/kernel/index.ts'
import { RpcError, SendFailure } from './channel.ts'
import type { Requester } from './session.ts'

export interface OpenRequest {
  readonly requester: Requester
  abandoned(): AbortSignal
  /** Fails the request: what it waits for does not come. */
  fail(why: SendFailure): void
}

/** Maps server-initiated requests on a shared connection to the client call they belong to; MCP does not say. */
export interface RequestAttribution {
  /**
   * Tracks a caller's request. `request` reports an answer that comes after the cancellation, and is cancelled
   * through `vain` where it waits in vain. `givenMs`: the owner's time limit.
   */
  track<T>(
    requester: Requester,
    request: (onLate: () => void, vain: Cancellation) => Promise<T>,
    ownerTimeoutMs?: number,
  ): Promise<T>
  /** Tracks our own requests: the server works on them, but its questions are about no caller. */
  trackOwn<T>(request: (onLate: () => void) => Promise<T>): Promise<T>
  /**
   * The requests that a question may belong to, newest first, if all are one caller's. A cancelled request counts for
   * as long as the server may work on it.
   */
  candidates(): readonly OpenRequest[] | 'several'
  open(): readonly OpenRequest[]
  isOnlyCandidate(): boolean
  /** Whether the server has no request, not even one of our own. */
  isIdle(): boolean
  /** The server asks something; answers how to report that the answer was delivered. */
  questionOpened(): () => void
  /** When the server last waited for an answer; now, while it does. */
  answerOwedAt(): number
  busy(): number
  busySince(): number | undefined
  /** The longest owner's limit of all open requests; zero without any. */
  ownerTimeoutMs(): number
  lastUsedAt(): number
}

export function createRequestAttribution(clock: Clock): RequestAttribution {
  const underWay = new Map<TrackedRequest, number>()
  const cancelled = createCancelledRequests(clock)
  const own = createOwnRequests(clock)
  let used = clock.now()
  let questions = 0
  let owed = clock.now()

  function leave(request: TrackedRequest): void {
    underWay.delete(request)
    used = clock.now()
    request.leave()
    if (!request.isAnswered()) request.onAnswer(cancelled.add(request.requester.caller))
  }

  return {
    async track(requester, send, ownerTimeoutMs = 0) {
      const request = createTrackedRequest(requester, ownerTimeoutMs)
      underWay.set(request, clock.now())
      try {
        const result = await send(request.answer, request.vain)
        request.answer()
        return result
      } catch (error) {
        if (!mayStillRun(error)) request.answer()
        throw error
      } finally {
        leave(request)
      }
    },
    trackOwn: own.attend,
    candidates() {
      const requests = [...underWay.keys()].toReversed()
      const [newest] = requests
      if (!newest) return []
      const isOther = (caller: string) => caller !== newest.requester.caller
      const areSeveral =
        requests.some(({ requester }) => isOther(requester.caller)) || cancelled.callers().some(isOther)
      return areSeveral ? 'several' : requests
    },
    open: () => [...underWay.keys()],
    isOnlyCandidate: () => underWay.size === 1 && cancelled.callers().length === 0,
    isIdle: () => underWay.size === 0 && cancelled.callers().length === 0 && own.areIdle(),
    questionOpened() {
      questions++
      return () => {
        questions--
        owed = clock.now()
      }
    },
    answerOwedAt: () => (questions > 0 ? clock.now() : owed),
    busy: () => underWay.size + own.count(),
    busySince: () => earliest(underWay.values().next().value, own.since()),
    ownerTimeoutMs() {
      let longest = 0
      for (const request of underWay.keys()) longest = Math.max(longest, request.ownerTimeoutMs)
      return longest
    },
    lastUsedAt: () => used,
  }
}

/** Our own requests, such as listings. */
interface OwnRequests {
  attend: RequestAttribution['trackOwn']
  count(): number
  since(): number | undefined
  /** Whether there is no request, nor a cancelled one that may still run. */
  areIdle(): boolean
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
        if (mayStillRun(error) && !isAnswered) answer = cancelled.add(OURSELVES)
        throw error
      } finally {
        underWay.delete(request)
      }
    },
    count: () => underWay.size,
    since: () => underWay.values().next().value,
    areIdle: () => underWay.size === 0 && cancelled.callers().length === 0,
  }
}

const OURSELVES = 'ourselves'

function earliest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}

interface TrackedRequest extends OpenRequest {
  readonly vain: Cancellation
  readonly ownerTimeoutMs: number
  leave(): void
  /** The server has answered, and no longer works on the request. */
  answer(): void
  isAnswered(): boolean
  onAnswer(tell: () => void): void
}

function createTrackedRequest(requester: Requester, ownerTimeoutMs: number): TrackedRequest {
  // Created on demand: a signal costs more than the rest of this.
  let controller: AbortController | undefined
  let hasLeft = false
  let isAnswered = false
  let tell = () => {}
  const vain = createCancellation()
  return {
    requester,
    vain,
    ownerTimeoutMs,
    fail: vain.cancel,
    abandoned() {
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

/** Whether a server may still work on a request that ended like this: it was cancelled, or its answer got lost. */
function mayStillRun(error: unknown): boolean {
  if (error instanceof RpcError) return false
  return !(error instanceof SendFailure) || error.wasSent === 'maybe'
}

/** The callers of cancelled requests that a server may still work on. */
interface CancelledRequests {
  /** Records a cancelled request; answers how to report that the server answered after all. */
  add(caller: string): () => void
  callers(): readonly string[]
}

/**
 * How long a server may work on a cancelled request. A server that obeys the cancellation never answers, and
 * meanwhile its questions to others are declined.
 */
export const CANCELLED_WORK_MS = 2 * 60_000
export const MOST_CANCELLED = 200

/** Stands for callers beyond that limit; no caller has this name. */
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
