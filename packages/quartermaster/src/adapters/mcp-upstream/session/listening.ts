import type { Cancel, Clock } from '../../../core/kernel/index.ts'
import { type Id, isRecord, type Params } from '../../mcp-wire/index.ts'
import { createAcknowledgements, type Honoured, honouredIn } from './acknowledgements.ts'
import { createAskTiming } from './ask-timing.ts'
import { type Asked, createAskedAddresses } from './asked-addresses.ts'
import { createHeard } from './heard.ts'
import type { Line } from './line.ts'
import { createRest } from './rest.ts'
import type { SessionEvents, SessionFacts } from './session.ts'
import { ENDED, type StreamEnd, toStreamEnd, UNANSWERED } from './stream-end.ts'
import { type Failed, verdictOn } from './stream-verdict.ts'

/**
 * Hears what changes at a server of 2026-07-28 or later, for as long as the line is there.
 *
 * One stream asks for the lists and all addresses. The one that the server has acknowledged goes on until it acknowledges the
 * next. One that is asked for is waited for, and then everything that was wanted meanwhile is asked for at once.
 *
 * Where a stream fails, it may be for an address in it, for want of room for a second stream, or for a bad moment. After a moment
 * less is asked for in its place, to find out: what the server took before, then the lists alone. If it takes less, it is for what
 * was left out, which is halved without pauses until it is clear. If it fails at the lists just as well, it is for no address: the
 * stream that tells is given up where there may be no room for two, and everything is asked for again after a pause.
 */
export interface Listening {
  /** Hears of these addresses and no others. */
  watch(uris: ReadonlySet<string>): void
  /** The server says that it tells from now on: on which stream, and of what. */
  acknowledged(said?: Params): void
  /** Since when that is so without a break; nothing while it is not. */
  since(): number | undefined
  stop(): void
}

export interface ListeningDeps {
  readonly line: Line
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
 * How long whoever wants something else waits for an acknowledgement. There are servers that never send one, so it is less until
 * one came, and more each time that it was waited for in vain: the server may only be slow.
 */
const PATIENCE_MS = { first: 500, longest: 5_000 }
/** Whoever acknowledges streams, and has not done so by then, does not take this one. */
const ACKNOWLEDGED_WITHIN_MS = 30_000
/** A server that acknowledges none may have told on a stream that lasted so long. */
const MAY_HAVE_TOLD_MS = 10_000

const LISTS = { tools: 'toolsListChanged', prompts: 'promptsListChanged', resources: 'resourcesListChanged' } as const

export function keepListening({ line, facts, clock, events, envelope }: ListeningDeps): Listening {
  const lists = (Object.keys(LISTS) as (keyof typeof LISTS)[]).filter(kind => isRecord(facts.capabilities[kind]))
  const addresses = createAskedAddresses((uri, reason) => events.onNotSubscribed?.(uri, reason))
  const acknowledgements = createAcknowledgements()
  const heard = createHeard({ clock, lists, events })
  const timing = createAskTiming(clock, askForWanted)
  const rest = createRest(clock, askForPutOff)
  const record = { hasRoom: false, hasDoubted: false, failures: 0 }
  /** Whether it has acknowledged a stream, and agreed to tell of something on it. */
  let hasTold = false
  /** The stream that the server has acknowledged. It goes on until the server has acknowledged the next one. */
  let telling: Stream | undefined
  /** Whether the server agreed to tell of nothing on the last one that it acknowledged. */
  let isInVain = false
  /** The one that it has not acknowledged yet. */
  let asking: Stream | undefined
  /** The one that failed, while less is asked for. */
  let suspect: Failed | undefined
  let patienceMs = PATIENCE_MS.first
  let isOver = false
  /** Whether it was said last that it does not tell. */
  let isRefused = false

  function open(asked: Asked): void {
    giveUpAsking()
    if (isOver) return
    if (isNothing(asked)) return end()
    const controller = new AbortController()
    const params = { notifications: wish(asked), _meta: envelope() }
    const { id, answer } = line.begin('subscriptions/listen', params, { signal: controller.signal })
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

  /** Asks for what is wanted, unless that is just what it tells of. */
  function askForWanted(): void {
    timing.asked()
    suspect = undefined
    const next = addresses.next()
    if (!telling || !isSame(next.uris, telling.asked.uris)) return open(next)
    giveUpAsking()
    if (next.tried.length === 0) return
    // It takes what it tells of, whatever it said before.
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

  /** What it told on for a while it may tell on again, however that ended. */
  function broke(stream: Stream): void {
    telling = undefined
    if (!isInVain) heard.silent()
    if (!asking) reopen(stream)
  }

  /** A server that never acknowledges may tell all the same. */
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
    if (!telling) heard.silent()
    if (mayHaveTold(stream, how)) return reopen(stream, how)
    if (!isLess) record.failures++
    const isTelling = telling !== undefined
    const verdict = verdictOn({ asked, how, less: lessOf(asked), isLess, isTelling, record })
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
    // Lists, and what it took before, do not wait until it is clear which address it refuses.
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

  /** It does not even tell of the lists. */
  function tellsNothing(stream: Stream, how: StreamEnd): void {
    sayRefused(how.reason)
    // Whoever has told of changes before does so, and may only be another version of itself for a while.
    if (hasTold || how.kind !== 'refused') reopen(stream, how)
    else timing.failed()
  }

  function makeRoom(): void {
    const before = telling
    record.hasRoom = false
    giveUpTelling()
    heard.silent()
    // By how long that one lasted: there is another like it to be had soon.
    if (before) reopen(before)
  }

  function reopen({ openedAt }: Stream, { retryAfterMs }: Partial<StreamEnd> = {}): void {
    // One on which nothing is told is worth no more than one that ended at once.
    const lastedMs = isInVain ? 0 : clock.now() - openedAt
    timing.pause({ lastedMs, retryAfterMs, hasTold })
  }

  function sayRefused(reason: string): void {
    if (!isRefused) events.onLog('warn', `It does not tell of changes: ${reason}`)
    isRefused = true
  }

  /** It tells on this one from now on, of what it honours where it says that, which may be nothing. */
  function tellOn(stream: Stream, honoured: Honoured | undefined): void {
    // One on which nothing is told may have ended by now.
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
    // What it never told of was missed by nobody.
    else if (heard.since() !== undefined) heard.silent()
  }

  function hear({ asked: { uris } }: Stream, honoured: Honoured | undefined): void {
    hasTold = true
    isRefused = false
    heard.tells(honoured ? new Set([...uris].filter(uri => honoured.uris.has(uri))) : uris)
  }

  function end(): void {
    giveUpAsking()
    giveUpTelling()
    heard.silent()
  }

  /** How long whoever wants something else waits for the one that is asked for. */
  function leftPatienceMs(): number {
    return asking ? asking.openedAt + patienceMs - clock.now() : 0
  }

  void line.ended.then(stop)
  function stop(): void {
    isOver = true
    timing.stop()
    rest.stop()
    end()
    heard.stop()
  }

  open(addresses.next())
  return {
    watch(next) {
      if (isSame(next, addresses.wanted())) return
      heard.want(next)
      addresses.want(next)
      rest.anew()
      timing.within(leftPatienceMs())
    },
    acknowledged(said = {}) {
      if (!asking) return
      // What names none of ours is taken for the last one's. If it was not, the stream may still be refused, and is asked anew.
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
    since: heard.since,
    stop,
  }
}

function isSame(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return some.size === others.size && [...some].every(uri => others.has(uri))
}
