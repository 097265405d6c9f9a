import { type Cancel, type Clock, createReopenDelay } from '../../../core/kernel/index.ts'
import { type Id, isId, isRecord, metaOf, type Params } from '../../mcp-wire/index.ts'
import { META } from './channel.ts'
import type { RpcChannel } from './peer.ts'
import type { SessionEvents, SessionFacts } from './session.ts'
import {
  createAddressBisect,
  diagnose,
  ENDED,
  type Failed,
  type StreamEnd,
  type StreamRequest,
  toStreamEnd,
  UNANSWERED,
} from './subscription-bisect.ts'
import { createSubscriptionTimes } from './subscription-times.ts'

/**
 * Subscribes to changes at a server of 2026-07-28 or later, for as long as the channel exists.
 *
 * One stream requests the lists and all addresses. The acknowledged stream goes on until the next is acknowledged. A
 * requested one is waited for, and then everything wanted meanwhile is requested at once.
 *
 * A stream may fail for an address in it, because the server accepts no second stream, or temporarily. After a moment
 * less is requested instead, to find out: what the server accepted before, then the lists alone. If it accepts less,
 * the reason is in what was left out, which is halved without pauses until it is found. If it fails at the lists as
 * well, no address is the reason: the acknowledged stream is ended where the server may not accept two, and all is
 * requested again after a pause.
 */
interface ModernSubscriptions {
  /** Subscribes to exactly these addresses. */
  watch(uris: ReadonlySet<string>): void
  /** The server acknowledged a stream. */
  acknowledged(said?: Params): void
  /** Since when the server notifies without a gap; nothing while it does not. */
  since(): number | undefined
  stop(): void
}

interface ModernSubscriptionsDeps {
  readonly rpc: RpcChannel
  readonly facts: SessionFacts
  readonly clock: Clock
  readonly events: SessionEvents
  envelope(): Params
}

interface Stream {
  readonly id: Id | undefined
  readonly asked: StreamRequest
  readonly openedAt: number
  readonly controller: AbortController
  readonly stopWaiting: Cancel
}

/**
 * How long a changed subscription waits for an acknowledgement of the last one. Some servers never send one, so it is
 * short before the first, and longer after each vain wait.
 */
const PATIENCE_MS = { first: 500, longest: 5_000 }
/** A server that usually acknowledges, and has not by then, refuses this stream. */
const ACKNOWLEDGED_WITHIN_MS = 30_000
/** A server that never acknowledges may have notified on a stream that lasted so long. */
const MAY_HAVE_NOTIFIED_MS = 10_000

const LISTS = { tools: 'toolsListChanged', prompts: 'promptsListChanged', resources: 'resourcesListChanged' } as const

export function createModernSubscriptions({
  rpc,
  facts,
  clock,
  events,
  envelope,
}: ModernSubscriptionsDeps): ModernSubscriptions {
  const lists = (Object.keys(LISTS) as (keyof typeof LISTS)[]).filter(kind => isRecord(facts.capabilities[kind]))
  const addresses = createAddressBisect((uri, reason) => events.onNotSubscribed?.(uri, reason))
  const acknowledgements = createAcknowledgements()
  const times = createSubscriptionTimes({ clock, lists, events })
  const timing = createRequestTiming(clock, requestWanted)
  const rest = createSubscribeBackoff(clock, requestPostponed)
  const record = { acceptsTwoStreams: false, hasBlamedAddress: false, failures: 0 }
  /** Whether the server ever acknowledged a stream, and agreed to notify of something. */
  let hasNotified = false
  /** The acknowledged stream, until the next one is acknowledged. */
  let active: Stream | undefined
  /** Whether the server agreed to notify of nothing on the acknowledged stream. */
  let isEmpty = false
  let pending: Stream | undefined
  /** The stream that failed, while fewer addresses are requested. */
  let failedStream: Failed | undefined
  let patienceMs = PATIENCE_MS.first
  let isOver = false
  let isRefused = false

  function open(asked: StreamRequest): void {
    abandonPending()
    if (isOver) return
    if (isNothing(asked)) return end()
    const controller = new AbortController()
    const params = { notifications: notificationFilter(asked), _meta: envelope() }
    const { id, answer } = rpc.begin('subscriptions/listen', params, { signal: controller.signal })
    const stopWaiting = clock.after(ACKNOWLEDGED_WITHIN_MS, () => onAcknowledgeTimeout(stream))
    const stream: Stream = { id, asked, controller, openedAt: clock.now(), stopWaiting }
    pending = stream
    acknowledgements.expect(id)
    void answer.then(() => ENDED, toStreamEnd).then(how => onStreamEnded(stream, how))
  }

  const isNothing = ({ uris }: StreamRequest) => lists.length === 0 && uris.size === 0

  function notificationFilter({ uris }: StreamRequest): Params {
    const notifications = Object.fromEntries(lists.map(kind => [LISTS[kind], true]))
    return uris.size === 0 ? notifications : { ...notifications, resourceSubscriptions: [...uris] }
  }

  /** Requests what is wanted, unless the acknowledged stream covers exactly that. */
  function requestWanted(): void {
    timing.onRequested()
    failedStream = undefined
    const next = addresses.next()
    if (!active || !isSame(next.uris, active.asked.uris)) return open(next)
    abandonPending()
    if (next.tried.length === 0) return
    // The server accepts what it notifies of, whatever it said before.
    addresses.accept(next)
    requestWanted()
  }

  function requestPostponed(): void {
    addresses.resume()
    if (!pending) requestWanted()
  }

  function abandonPending(): void {
    if (!pending) return
    pending.controller.abort()
    pending.stopWaiting()
    pending = undefined
    patienceMs = Math.min(2 * patienceMs, PATIENCE_MS.longest)
  }

  function closeActive(): void {
    active?.controller.abort()
    active = undefined
  }

  function onStreamEnded(stream: Stream, how: StreamEnd): void {
    if (stream.controller.signal.aborted) return
    if (stream === active) onActiveEnded(stream)
    else failed(stream, how)
  }

  /** A stream that lasted for a while may be accepted again, however it ended. */
  function onActiveEnded(stream: Stream): void {
    active = undefined
    if (!isEmpty) times.onStreamLost()
    if (!pending) reopen(stream)
  }

  /** A server that never acknowledges may notify all the same. */
  function onAcknowledgeTimeout(stream: Stream): void {
    if (!hasNotified) return
    stream.controller.abort()
    failed(stream, UNANSWERED)
  }

  function failed(stream: Stream, how: StreamEnd): void {
    const { asked } = stream
    const isReduced = failedStream !== undefined
    stream.stopWaiting()
    pending = undefined
    failedStream = undefined
    if (!active) times.onStreamLost()
    if (mayHaveNotified(stream, how)) return reopen(stream, how)
    if (!isReduced) record.failures++
    const verdict = diagnose({
      request: asked,
      how,
      reduced: reducedOf(asked),
      isReduced,
      hasActiveStream: active !== undefined,
      record,
    })
    switch (verdict) {
      case 'transient':
        return reopen(stream, how)
      case 'address':
        return requestWithout({ request: asked, how })
      case 'singleStream':
        return makeRoom()
      case 'allRefused':
        return onAllRefused(stream, how)
      default:
        failedStream = { request: asked, how }
        return open(verdict.reduced)
    }
  }

  function mayHaveNotified({ openedAt }: Stream, { wasOpen = false }: StreamEnd): boolean {
    return !hasNotified && wasOpen && clock.now() - openedAt > MAY_HAVE_NOTIFIED_MS
  }

  function reducedOf(asked: StreamRequest): StreamRequest | undefined {
    const less = addresses.reduced(asked)
    return less && !isNothing(less) ? less : undefined
  }

  function requestWithout(failed: Failed): void {
    blame(failed)
    if (active) return requestWanted()
    // Lists and accepted addresses do not wait until the refused address is found.
    const sure = addresses.acceptedOnly()
    open(isNothing(sure) ? addresses.next() : sure)
  }

  function blame({ request, how }: Failed): void {
    record.hasBlamedAddress ||= active !== undefined && request.tried.length === 0
    record.failures = 0
    addresses.onRefused(request, how)
    timing.resetBackoff()
    if (addresses.hasPostponed()) rest.begin()
  }

  /** The server does not even notify of the lists. */
  function onAllRefused(stream: Stream, how: StreamEnd): void {
    reportRefused(how.reason)
    // A server that has notified before may be running another version for a while.
    if (hasNotified || how.kind !== 'refused') reopen(stream, how)
    else timing.failed()
  }

  function makeRoom(): void {
    const before = active
    record.acceptsTwoStreams = false
    closeActive()
    times.onStreamLost()
    // Pauses by how long that stream lasted: another like it can be opened soon.
    if (before) reopen(before)
  }

  function reopen({ openedAt }: Stream, { retryAfterMs }: Partial<StreamEnd> = {}): void {
    // A stream without notifications counts like one that ended at once.
    const lastedMs = isEmpty ? 0 : clock.now() - openedAt
    timing.pause({ lastedMs, retryAfterMs, hasNotified })
  }

  function reportRefused(reason: string): void {
    if (!isRefused) events.onLog('warn', `It does not tell of changes: ${reason}`)
    isRefused = true
  }

  /** From now on this is the acknowledged stream, for what the server honours where it says that. */
  function activate(stream: Stream, honoured: Honoured | undefined): void {
    // An empty stream may have ended by now.
    if (active && !isEmpty) {
      record.acceptsTwoStreams = true
      timing.resetBackoff()
    }
    closeActive()
    stream.stopWaiting()
    active = stream
    pending = undefined
    record.failures = 0
    patienceMs = PATIENCE_MS.longest
    isEmpty = honoured?.isAny === false
    addresses.accept(stream.asked, honoured?.uris)
    if (!isEmpty) noteHonoured(stream, honoured)
    // Nothing is missed where it never notified.
    else if (times.since() !== undefined) times.onStreamLost()
  }

  function noteHonoured({ asked: { uris } }: Stream, honoured: Honoured | undefined): void {
    hasNotified = true
    isRefused = false
    times.onStreamActive(honoured ? new Set([...uris].filter(uri => honoured.uris.has(uri))) : uris)
  }

  function end(): void {
    abandonPending()
    closeActive()
    times.onStreamLost()
  }

  function leftPatienceMs(): number {
    return pending ? pending.openedAt + patienceMs - clock.now() : 0
  }

  void rpc.ended.then(stop)
  function stop(): void {
    isOver = true
    timing.stop()
    rest.stop()
    end()
    times.stop()
  }

  open(addresses.next())
  return {
    watch(next) {
      if (isSame(next, addresses.wanted())) return
      times.setWanted(next)
      addresses.want(next)
      rest.reset()
      timing.within(leftPatienceMs())
    },
    acknowledged(said = {}) {
      if (!pending) return
      // An acknowledgement that names no stream of ours is taken for the last one. If that is refused after all, it
      // is requested again.
      const meant = acknowledgements.meant(said, pending.id)
      if (meant === 'earlier') return
      const stream = pending
      const atFault = failedStream
      const honoured = meant === 'this' ? honouredIn(said) : undefined
      acknowledgements.came(stream.id)
      activate(stream, honoured)
      if (atFault) blame(atFault)
      requestWanted()
    },
    since: times.since,
    stop,
  }
}

function isSame(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return some.size === others.size && [...some].every(uri => others.has(uri))
}

/** Matches acknowledgements to streams: one may have been cancelled, and the next requested meanwhile. */
interface Acknowledgements {
  expect(id: Id | undefined): void
  /** Which stream the acknowledgement names (MCP 2026-07-28). */
  meant(said: Params, id: Id | undefined): 'this' | 'earlier' | 'unknown'
  came(id: Id | undefined): void
}

/** Acknowledgements of cancelled streams come soon or never. */
const MOST_GIVEN_UP = 50

function createAcknowledgements(): Acknowledgements {
  const expected = new Set<string>()
  return {
    expect(id) {
      expected.add(String(id))
      for (const oldest of expected) {
        if (expected.size <= MOST_GIVEN_UP) return
        expected.delete(oldest)
      }
    },
    meant(said, id) {
      const named = metaOf(said)[META.subscriptionId]
      if (!isId(named) || id === undefined) return 'unknown'
      // Some servers return a number as text.
      if (String(named) === String(id)) return 'this'
      return expected.has(String(named)) ? 'earlier' : 'unknown'
    },
    came: id => void expected.delete(String(id)),
  }
}

interface Honoured {
  readonly uris: ReadonlySet<string>
  readonly isAny: boolean
}

function honouredIn({ notifications }: Params): Honoured | undefined {
  if (!isRecord(notifications)) return undefined
  const { resourceSubscriptions, ...lists } = notifications
  const given = Array.isArray(resourceSubscriptions) ? resourceSubscriptions : []
  const uris = new Set(given.filter(uri => typeof uri === 'string'))
  return { uris, isAny: uris.size > 0 || Object.values(lists).includes(true) }
}

interface RequestTiming {
  /** A stream has ended: waits, ever longer where streams keep ending soon. */
  pause(ended: EndedStream): void
  failed(): void
  /**
   * The wanted addresses changed: requests after this time at the latest, but not within a second of a failure, nor
   * before the server's own wait is over.
   */
  within(ms: number): void
  onRequested(): void
  /** Progress was made, so the next pause is short. */
  resetBackoff(): void
  stop(): void
}

interface EndedStream {
  readonly lastedMs: number
  readonly retryAfterMs?: number | undefined
  /** Whether the server has notified before, and is worth asking more often. */
  readonly hasNotified: boolean
}

/** A server that never notified may never do so. */
const PAUSES = { firstMs: 1_000, longestMs: 5 * 60_000 }
const LONGEST_OF_NOTIFYING_MS = 30_000
/** However long a server asks for. */
const LONGEST_ASKED_MS = 60_000

function createRequestTiming(clock: Clock, ask: () => void): RequestTiming {
  let pauseAfter = createReopenDelay(PAUSES)
  let pausedUntil = Number.NEGATIVE_INFINITY
  let cancelPause: Cancel = () => {}
  let cancelWait: Cancel = () => {}

  function stop(): void {
    cancelPause()
    cancelWait()
  }

  function hold(ms = 0): void {
    pausedUntil = clock.now() + Math.max(ms, PAUSES.firstMs)
  }

  return {
    pause({ lastedMs, retryAfterMs = 0, hasNotified }) {
      const leastMs = Math.min(retryAfterMs, LONGEST_ASKED_MS)
      const grownMs = Math.min(pauseAfter(lastedMs), hasNotified ? LONGEST_OF_NOTIFYING_MS : PAUSES.longestMs)
      hold(leastMs)
      cancelPause()
      cancelPause = clock.after(Math.max(leastMs, grownMs), ask)
    },
    failed: hold,
    within(ms) {
      cancelWait()
      const leftMs = Math.max(ms, pausedUntil - clock.now())
      if (leftMs <= 0) ask()
      else cancelWait = clock.after(leftMs, ask)
    },
    onRequested: stop,
    stop,
    resetBackoff() {
      pauseAfter = createReopenDelay(PAUSES)
    },
  }
}

/** Backoff for addresses that a server refuses for now. */
interface SubscribeBackoff {
  /** Starts the pause, unless one is running. */
  begin(): void
  reset(): void
  stop(): void
}

const REST_MS = { first: 60_000, longest: 30 * 60_000 }

export function createSubscribeBackoff(clock: Clock, over: () => void): SubscribeBackoff {
  let restMs = REST_MS.first
  let cancel: Cancel | undefined

  function end(): void {
    cancel = undefined
    over()
  }

  return {
    begin() {
      if (cancel) return
      cancel = clock.after(restMs, end)
      restMs = Math.min(2 * restMs, REST_MS.longest)
    },
    reset: () => void (restMs = REST_MS.first),
    stop: () => cancel?.(),
  }
}
