import type { Cancel, Clock } from '../../../core/kernel/index.ts'
import { type Id, isRecord, type Params } from '../../mcp-wire/index.ts'
import { createAcknowledgements, honouredIn } from './acknowledgements.ts'
import { createAskTiming } from './ask-timing.ts'
import { type AddressRefusal, type Asked, createAskedAddresses } from './asked-addresses.ts'
import { createGapTeller } from './gap-teller.ts'
import type { Line } from './line.ts'
import type { SessionEvents, SessionFacts } from './session.ts'
import { BROKEN, type StreamEnd, toStreamEnd } from './stream-end.ts'
import { createWantedSince } from './wanted-since.ts'

/**
 * Hears what changes at a server of 2026-07-28 or later, for as long as the line is there.
 *
 * One stream asks for the lists and all addresses. The one that the server has acknowledged goes on until it acknowledges the
 * next. One that is asked for is waited for, and then everything that was wanted meanwhile is asked for at once.
 *
 * Where a stream fails, it may be for an address in it, for want of room for a second stream, or for a bad moment. To find out,
 * less is asked for in its place: what the server took before, then the lists alone. If it takes less, it is for what was left
 * out, which is halved without pauses until it is clear. If it fails at the lists just as well, it is for no address: the stream
 * that tells is given up where the server was never seen to have room for two, and everything is asked for again after a pause.
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
}

/** A stream that was not acknowledged, and why. */
interface Failed {
  readonly asked: Asked
  readonly how: StreamEnd
}

/** How long addresses rest that it does not take for now, and ever longer where it goes on. */
const REST_MS = { first: 60_000, longest: 30 * 60_000 }
/** So often in a row it may fail at what is new before that is taken for more than a moment. */
const MOST_FAILED = 1
/** So often where it did with two streams before, about a minute. Then it has no room for two any more. */
const MOST_FAILED_WITH_ROOM = 6
/**
 * How long an acknowledgement is waited for. There are servers that never send one, so it is less where none came before, and
 * somewhat more each time that it was waited for in vain: it may only be slow.
 */
const PATIENCE_MS = { known: 5_000, first: 500, longest: 2_000 }

const LISTS = { tools: 'toolsListChanged', prompts: 'promptsListChanged', resources: 'resourcesListChanged' } as const

export function keepListening({ line, facts, clock, events, envelope }: ListeningDeps): Listening {
  const lists = (Object.keys(LISTS) as (keyof typeof LISTS)[]).filter(kind => isRecord(facts.capabilities[kind]))
  const addresses = createAskedAddresses((uri, reason) => events.onNotSubscribed?.(uri, reason))
  const acknowledgements = createAcknowledgements()
  /** The stream that the server has acknowledged. It goes on until the server has acknowledged the next one. */
  let telling: Stream | undefined
  /** The one that it has not acknowledged yet. */
  let asking: Stream | undefined
  /** The one that failed, while less is asked for. */
  let suspect: Failed | undefined
  let isOver = false
  /** Whether it said last that it does not do this, which is told once. */
  let isRefused = false
  /** Whether something may have changed that nobody was there to be told. */
  let hasMissed = false
  let since: number | undefined
  let cancelRest: Cancel | undefined
  let restMs = REST_MS.first
  /** How often in a row it failed, and not clearly at an address. */
  let failures = 0
  /** Whether it is known to acknowledge streams. */
  let hasAcknowledged = false
  /** How long that is waited for until it is. */
  let firstPatienceMs = PATIENCE_MS.first
  /** Whether it was seen to do with two streams at a time. */
  let hasRoom = false
  /** Whether it was once taken for an address's fault that it failed at the very addresses of which it was telling. */
  let hasDoubted = false
  const timing = createAskTiming(clock, askForWanted)
  const wantedSince = createWantedSince(clock)
  const gaps = createGapTeller(clock, () => sayWhatMayHaveChanged(addresses.sure().uris, lists))

  function open(asked: Asked): void {
    giveUpAsking()
    if (isOver) return
    if (isNothing(asked)) return end()
    const controller = new AbortController()
    const params = { notifications: wish(asked), _meta: envelope() }
    const { id, answer } = line.begin('subscriptions/listen', params, { signal: controller.signal })
    const stream = { id, asked, controller, openedAt: clock.now() }
    asking = stream
    acknowledgements.expect(id)
    void answer.then(() => BROKEN, toStreamEnd).then(how => ended(stream, how))
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
    if (telling && isSame(next.uris, telling.asked.uris)) giveUpAsking()
    else open(next)
  }

  function giveUpAsking(): void {
    if (!asking) return
    asking.controller.abort()
    asking = undefined
    firstPatienceMs = Math.min(2 * firstPatienceMs, PATIENCE_MS.longest)
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
    missed()
    if (!asking) reopen(stream)
  }

  function failed(stream: Stream, how: StreamEnd): void {
    const { asked } = stream
    const before = suspect
    asking = undefined
    suspect = undefined
    if (!telling) missed()
    if (how.kind === 'broken') return reopen(stream)
    if (isNamed(asked, how)) return askWithout({ asked, how })
    if (before) return failedToo(before, stream, how)
    failures++
    if (isMoment(asked, how)) return reopen(stream)
    if (isForTried(asked, how)) return askWithout({ asked, how })
    askForLess(stream, how)
  }

  /** Whether it says which address it refuses. */
  function isNamed({ uris }: Asked, { kind, uri }: StreamEnd): boolean {
    return kind === 'refused' && uri !== undefined && uris.has(uri)
  }

  /** Whether it may be over the next time. What it failed at before is not asked for twice. */
  function isMoment({ isDoubted }: Asked, { kind }: StreamEnd): boolean {
    return kind === 'notNow' && !isDoubted && failures <= MOST_FAILED
  }

  /** What it refuses though it has room for two can only be an address, and one that it took before may be gone by now. */
  function isForTried({ uris, tried, isDoubted }: Asked, { kind }: StreamEnd): boolean {
    const isNew = isDoubted || tried.length === uris.size
    return kind === 'refused' && telling !== undefined && hasRoom && uris.size > 0 && isNew
  }

  /** So did one that asked for less. */
  function failedToo(before: Failed, stream: Stream, how: StreamEnd): void {
    // It refused what was new, and says something else of what is not: that was for an address, and this is not.
    const isForNew = before.how.kind === 'refused' && how.kind === 'notNow' && before.asked.tried.length > 0
    if (!isForNew) return askForLess(stream, how)
    blame(before)
    if (telling) askForWanted()
    else reopen(stream)
  }

  function askForLess(stream: Stream, how: StreamEnd): void {
    const { asked } = stream
    // Whoever tells of these right now, and fails at them on a second stream once more, does so for the second stream.
    const isForSecond = hasDoubted && asked.uris.size > 0 && asked.tried.length === 0
    if (telling && isForSecond) return makeRoom(telling)
    const less = addresses.less(asked)
    if (!less) return forNoAddress(stream, how)
    if (!isNothing(less)) {
      suspect = { asked, how }
      return open(less)
    }
    // Without lists there is nothing to compare with.
    if (telling) forNoAddress(stream, how)
    else askWithout({ asked, how })
  }

  function askWithout(stream: Failed): void {
    blame(stream)
    if (telling) return askForWanted()
    // Lists, and what it took before, do not wait until it is clear which address it refuses.
    const sure = addresses.sure()
    open(isNothing(sure) ? addresses.next() : sure)
  }

  function blame({ asked, how }: Failed): void {
    hasDoubted ||= telling !== undefined && asked.tried.length === 0
    addresses.refused(asked, how)
    failures = 0
    timing.gotOn()
    rest()
  }

  /** It does not even tell of the lists, or not on a second stream. */
  function forNoAddress(stream: Stream, how: StreamEnd): void {
    if (telling && (!hasRoom || failures > MOST_FAILED_WITH_ROOM)) return makeRoom(telling)
    if (!telling) refused(how)
    // Whoever has told of changes before does so, and may only be another version of itself for a while.
    if (telling || hasAcknowledged || how.kind === 'notNow') reopen(stream)
  }

  function makeRoom(before: Stream): void {
    hasRoom = false
    giveUpTelling()
    missed()
    reopen(before)
  }

  function tellOn(stream: Stream): void {
    failures = 0
    if (telling) {
      hasRoom = true
      timing.gotOn()
    }
    giveUpTelling()
    telling = stream
    asking = undefined
  }

  /** What it does not take for now is asked for in a while. */
  function rest(): void {
    if (!addresses.isPutOff()) return
    cancelRest ??= clock.after(restMs, () => {
      cancelRest = undefined
      restMs = Math.min(2 * restMs, REST_MS.longest)
      addresses.resume()
      if (!asking) askForWanted()
    })
  }

  function reopen({ openedAt }: Stream): void {
    timing.pause(clock.now() - openedAt)
  }

  function refused({ reason }: AddressRefusal): void {
    if (!isRefused) events.onLog('warn', `It does not tell of changes: ${reason}`)
    isRefused = true
  }

  function missed(): void {
    since = undefined
    hasMissed = true
  }

  function end(): void {
    giveUpAsking()
    giveUpTelling()
    since = undefined
  }

  /** What was heard of late, or not for a while, may have changed before. */
  function sayWhatMayHaveChanged(uris: Iterable<string>, kinds: readonly (keyof typeof LISTS)[]): void {
    for (const kind of kinds) events.onListChanged(kind)
    for (const uri of uris) events.onResourceUpdated(uri)
  }

  /** Whether the server is still to tell of something on it that it does not tell of yet. */
  function isWorthIt({ asked: { uris, tried } }: Stream): boolean {
    const wanted = addresses.wanted()
    const isWanted = (uri: string) => wanted.has(uri)
    if (!telling) return lists.length > 0 || [...uris].some(isWanted)
    return tried.length === 0 || tried.some(isWanted)
  }

  /** How long whoever wants something else waits for the one that is asked for. */
  function patienceMs(): number {
    if (!asking || !isWorthIt(asking)) return 0
    return asking.openedAt + (hasAcknowledged ? PATIENCE_MS.known : firstPatienceMs) - clock.now()
  }

  void line.ended.then(stop)
  function stop(): void {
    isOver = true
    timing.asked()
    cancelRest?.()
    gaps.stop()
    end()
  }

  open(addresses.next())
  return {
    watch(next) {
      const before = addresses.wanted()
      if (isSame(next, before)) return
      hasMissed ||= !telling && before.size > 0
      wantedSince.want(next)
      addresses.want(next)
      restMs = REST_MS.first
      timing.within(patienceMs())
    },
    acknowledged(said = {}) {
      if (!asking) return
      // What names none of ours is taken for the last one's. If it was not, the stream may still be refused, and is asked anew.
      const meant = acknowledgements.meant(said, asking.id)
      if (meant === 'earlier') return
      acknowledgements.came(asking.id)
      hasAcknowledged = true
      const { asked } = asking
      const atFault = suspect
      tellOn(asking)
      since ??= clock.now()
      isRefused = false
      const fresh = addresses.taken(asked, meant === 'this' ? honouredIn(said) : undefined)
      const wasMissed = hasMissed
      hasMissed = false
      if (atFault) blame(atFault)
      askForWanted()
      if (wasMissed) gaps.missed()
      else sayWhatMayHaveChanged(fresh.filter(wantedSince.isLate), [])
    },
    since: () => since,
    stop,
  }
}

function isSame(some: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return some.size === others.size && [...some].every(uri => others.has(uri))
}
