import { type Cancel, type Clock, reopening } from '../../../core/kernel/index.ts'
import { type Id, isId, isRecord, metaOf, type Params } from '../../mcp-wire/index.ts'
import { META } from './message-limits.ts'
import type { RpcChannel } from './rpc-channel.ts'
import type { SessionEvents, SessionFacts } from './session.ts'
import {
  type Asked,
  createAddressBisect,
  diagnose,
  ENDED,
  type Failed,
  type StreamEnd,
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
  /** Listens to these addresses and no others. */
  watch(uris: ReadonlySet<string>): void
  /** The server acknowledged a stream: which one, and for what. */
  acknowledged(said?: Params): void
  /** Since when it notifies without a gap; nothing while it does not. */
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
  readonly asked: Asked
  readonly openedAt: number
  readonly controller: AbortController
  readonly stopWaiting: Cancel
}

/**
 * How long another wish waits for an acknowledgement. Some servers never send one, so it is short before the first, and
 * longer after each vain wait: the server may only be slow.
 */
const PATIENCE_MS = { first: 500, longest: 5_000 }
/** A server that acknowledges streams, and has not done so by then, refuses this one. */
const ACKNOWLEDGED_WITHIN_MS = 30_000
/** A server that never acknowledges may have notified on a stream that lasted this long. */
const MAY_HAVE_TOLD_MS = 10_000

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
  const timing = createAskTiming(clock, askForWanted)
  const rest = createSubscribeBackoff(clock, askForPutOff)
  const record = { hasRoom: false, hasDoubted: false, failures: 0 }
  /** Whether it has acknowledged a stream, and agreed to notify of something. */
  let hasTold = false
  /** The acknowledged stream. It goes on until the next one is acknowledged. */
  let telling: Stream | undefined
  /** Whether the server agreed to notify of nothing on the last acknowledged stream. */
  let isInVain = false
  /** The stream that is not acknowledged yet. */
  let asking: Stream | undefined
  /** The stream that failed, while less is requested. */
  let suspect: Failed | undefined
  let patienceMs = PATIENCE_MS.first
  let isOver = false
  /** Whether the last report was that it does not notify. */
  let isRefused = false

  function open(asked: Asked): void {
    giveUpAsking()
    if (isOver) return
    if (isNothing(asked)) return end()
    const controller = new AbortController()
    const params = { notifications: wish(asked), _meta: envelope() }
    const { id, answer } = rpc.begin('subscriptions/listen', params, { signal: controller.signal })
    const stopWaiting = clock.after(ACKNOWLEDGED_WITHIN_MS, () => unanswered(stream))
    const stream: Stream = { id, asked, controller, openedAt: clock.now(), stopWaiting }
    asking = stream
    acknowledgements.expect(id)
    void answer.then(() => ENDED, toStreamEnd).then(how => ended(stream, how))
  }

  const isNothing = ({ uris }: Asked) => lists.length === 0 && uris.size === 0

  function wish({ uris }: Asked): Params {
    const notifications = Object.fromEntries(lists.map(kind => [LISTS[kind], true]))
    return uris.size === 0 ? notifications : { ...notifications, resourceSubscriptions: [...uris] }
  }

  /** Requests what is wanted, unless the acknowledged stream covers it exactly. */
  function askForWanted(): void {
    timing.asked()
    suspect = undefined
    const next = addresses.next()
    if (!telling || !isSame(next.uris, telling.asked.uris)) return open(next)
    giveUpAsking()
    if (next.tried.length === 0) return
    // It accepts what it notifies of, whatever it said before.
    addresses.taken(next)
    askForWanted()
  }

  function askForPutOff(): void {
    addresses.resume()
    if (!asking) askForWanted()
  }

  function giveUpAsking(): void {
    if (!asking) return
    asking.controller.abort()
    asking.stopWaiting()
    asking = undefined
    patienceMs = Math.min(2 * patienceMs, PATIENCE_MS.longest)
  }

  function giveUpTelling(): void {
    telling?.controller.abort()
    telling = undefined
  }

  function ended(stream: Stream, how: StreamEnd): void {
    if (stream.controller.signal.aborted) return
    if (stream === telling) broke(stream)
    else failed(stream, how)
  }

  /** What lasted for a while may be accepted again, however it ended. */
  function broke(stream: Stream): void {
    telling = undefined
    if (!isInVain) times.silent()
    if (!asking) reopen(stream)
  }

  /** A server that never acknowledges may notify all the same. */
  function unanswered(stream: Stream): void {
    if (!hasTold) return
    stream.controller.abort()
    failed(stream, UNANSWERED)
  }

  function failed(stream: Stream, how: StreamEnd): void {
    const { asked } = stream
    const isLess = suspect !== undefined
    stream.stopWaiting()
    asking = undefined
    suspect = undefined
    if (!telling) times.silent()
    if (mayHaveTold(stream, how)) return reopen(stream, how)
    if (!isLess) record.failures++
    const isTelling = telling !== undefined
    const verdict = diagnose({ asked, how, less: lessOf(asked), isLess, isTelling, record })
    switch (verdict) {
      case 'moment':
        return reopen(stream, how)
      case 'address':
        return askWithout({ asked, how })
      case 'second':
        return makeRoom()
      case 'all':
        return tellsNothing(stream, how)
      default:
        suspect = { asked, how }
        return open(verdict.less)
    }
  }

  function mayHaveTold({ openedAt }: Stream, { wasOpen = false }: StreamEnd): boolean {
    return !hasTold && wasOpen && clock.now() - openedAt > MAY_HAVE_TOLD_MS
  }

  function lessOf(asked: Asked): Asked | undefined {
    const less = addresses.less(asked)
    return less && !isNothing(less) ? less : undefined
  }

  function askWithout(failed: Failed): void {
    blame(failed)
    if (telling) return askForWanted()
    // Lists and accepted addresses do not wait until it is clear which address it refuses.
    const sure = addresses.sure()
    open(isNothing(sure) ? addresses.next() : sure)
  }

  function blame({ asked, how }: Failed): void {
    record.hasDoubted ||= telling !== undefined && asked.tried.length === 0
    record.failures = 0
    addresses.refused(asked, how)
    timing.gotOn()
    if (addresses.isPutOff()) rest.begin()
  }

  /** It does not even notify of the lists. */
  function tellsNothing(stream: Stream, how: StreamEnd): void {
    sayRefused(how.reason)
    // A server that has notified before can, and may be running another version for a while.
    if (hasTold || how.kind !== 'refused') reopen(stream, how)
    else timing.failed()
  }

  function makeRoom(): void {
    const before = telling
    record.hasRoom = false
    giveUpTelling()
    times.silent()
    // By how long that one lasted: another like it can be opened soon.
    if (before) reopen(before)
  }

  function reopen({ openedAt }: Stream, { retryAfterMs }: Partial<StreamEnd> = {}): void {
    // A stream without notifications is worth no more than one that ended at once.
    const lastedMs = isInVain ? 0 : clock.now() - openedAt
    timing.pause({ lastedMs, retryAfterMs, hasTold })
  }

  function sayRefused(reason: string): void {
    if (!isRefused) events.onLog('warn', `It does not tell of changes: ${reason}`)
    isRefused = true
  }

  /** This stream is the acknowledged one from now on, for what it honours where it says that, which may be nothing. */
  function tellOn(stream: Stream, honoured: Honoured | undefined): void {
    // A stream without notifications may have ended by now.
    if (telling && !isInVain) {
      record.hasRoom = true
      timing.gotOn()
    }
    giveUpTelling()
    stream.stopWaiting()
    telling = stream
    asking = undefined
    record.failures = 0
    patienceMs = PATIENCE_MS.longest
    isInVain = honoured?.isAny === false
    addresses.taken(stream.asked, honoured?.uris)
    if (!isInVain) hear(stream, honoured)
    // What it never notified of was not missed.
    else if (times.since() !== undefined) times.silent()
  }

  function hear({ asked: { uris } }: Stream, honoured: Honoured | undefined): void {
    hasTold = true
    isRefused = false
    times.tells(honoured ? new Set([...uris].filter(uri => honoured.uris.has(uri))) : uris)
  }

  function end(): void {
    giveUpAsking()
    giveUpTelling()
    times.silent()
  }

  /** How long another wish waits for the requested stream. */
  function leftPatienceMs(): number {
    return asking ? asking.openedAt + patienceMs - clock.now() : 0
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
      times.want(next)
      addresses.want(next)
      rest.reset()
      timing.within(leftPatienceMs())
    },
    acknowledged(said = {}) {
      if (!asking) return
      // An acknowledgement that names no stream of ours is taken for the last one. If it was not, the stream may still
      // be refused, and is requested again.
      const meant = acknowledgements.meant(said, asking.id)
      if (meant === 'earlier') return
      const stream = asking
      const atFault = suspect
      const honoured = meant === 'this' ? honouredIn(said) : undefined
      acknowledgements.came(stream.id)
      tellOn(stream, honoured)
      if (atFault) blame(atFault)
      askForWanted()
    },
    since: times.since,
    stop,
  }
}

function isSame(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return some.size === others.size && [...some].every(uri => others.has(uri))
}

/** Which stream a server acknowledges: one may have been cancelled, and the next requested meanwhile. */
interface Acknowledgements {
  /** A stream was requested with this id. */
  expect(id: Id | undefined): void
  /** Whether it is about this stream: it names its request (MCP 2026-07-28). */
  meant(said: Params, id: Id | undefined): 'this' | 'earlier' | 'unknown'
  came(id: Id | undefined): void
}

/** Acknowledgements of cancelled streams come soon, or never. */
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

/** What a server agrees to notify of. */
interface Honoured {
  readonly uris: ReadonlySet<string>
  readonly isAny: boolean
}

/** Nothing where it does not say. */
function honouredIn({ notifications }: Params): Honoured | undefined {
  if (!isRecord(notifications)) return undefined
  const { resourceSubscriptions, ...lists } = notifications
  const given = Array.isArray(resourceSubscriptions) ? resourceSubscriptions : []
  const uris = new Set(given.filter(uri => typeof uri === 'string'))
  return { uris, isAny: uris.size > 0 || Object.values(lists).includes(true) }
}

/** When a stream of changes is requested again. */
interface AskTiming {
  /** A stream has ended: waits, and ever longer where they continue to end soon. */
  pause(ended: EndedAsk): void
  failed(): void
  /**
   * There is a new wish: after this time at the latest, but not within a second of a failure, nor before the server's
   * own wait is over.
   */
  within(ms: number): void
  asked(): void
  /** Something was found out, so the next pause is short. */
  gotOn(): void
  stop(): void
}

interface EndedAsk {
  readonly lastedMs: number
  /** How long the server asks to be left alone. */
  readonly retryAfterMs?: number | undefined
  /** Whether the server has notified before, and so is worth asking more often. */
  readonly hasTold: boolean
}

/** A server that never notified may never do so. */
const PAUSES = { firstMs: 1_000, longestMs: 5 * 60_000 }
const LONGEST_OF_TELLING_MS = 30_000
/** However long a server asks for. */
const LONGEST_ASKED_MS = 60_000

function createAskTiming(clock: Clock, ask: () => void): AskTiming {
  let pauseAfter = reopening(PAUSES)
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
    pause({ lastedMs, retryAfterMs = 0, hasTold }) {
      const leastMs = Math.min(retryAfterMs, LONGEST_ASKED_MS)
      const grownMs = Math.min(pauseAfter(lastedMs), hasTold ? LONGEST_OF_TELLING_MS : PAUSES.longestMs)
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
    asked: stop,
    stop,
    gotOn() {
      pauseAfter = reopening(PAUSES)
    },
  }
}

/** How long addresses that a server refuses for now are left alone: longer each time. */
interface SubscribeBackoff {
  /** Starts the pause, unless one is running. */
  begin(): void
  /** The next pause is short. */
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
