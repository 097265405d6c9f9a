import { type Cancel, type Clock, reopening } from '../../../core/kernel/index.ts'
import { type Id, isId, isRecord, metaOf, type Params } from '../../mcp-wire/index.ts'
import { type AddressRefusal, type Asked, createAskedAddresses } from './asked-addresses.ts'
import { SendFailure } from './channel.ts'
import { createGapTeller } from './gap-teller.ts'
import type { Line } from './line.ts'
import { RPC, RpcError } from './rpc-error.ts'
import type { SessionEvents, SessionFacts } from './session.ts'
import { createWantedSince } from './wanted-since.ts'
import { META } from './wire-names.ts'

/** Hears what changes at a server of 2026-07-28 or later, for as long as the line is there. */
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

/**
 * How a stream ended. `refused`: for what it asked for. `notNow`: the server may have too many just now. `broken`: it may be over
 * in a moment, or the server is gone, and the line ends by itself.
 */
interface StreamEnd extends AddressRefusal {
  readonly kind: 'refused' | 'notNow' | 'broken'
}

const PAUSES = { firstMs: 1_000, longestMs: 30_000 }
/** How long addresses rest that it does not take for now, and ever longer where it goes on. */
const REST_MS = { first: 60_000, longest: 30 * 60_000 }
/** So often in a row it may fail at a stream for a moment. More often it is for an address in it. */
const MOST_FAILED = 1
/** Acknowledgements of streams that were given up come soon, or never. */
const MOST_GIVEN_UP = 50

/** One that answers so would answer the same again: it does not do this, or has no such address. */
const REFUSALS: ReadonlySet<number> = new Set([RPC.methodNotFound, RPC.invalidParams, RPC.resourceNotFound])

const LISTS = { tools: 'toolsListChanged', prompts: 'promptsListChanged', resources: 'resourcesListChanged' } as const

export function keepListening({ line, facts, clock, events, envelope }: ListeningDeps): Listening {
  const lists = (Object.keys(LISTS) as (keyof typeof LISTS)[]).filter(kind => isRecord(facts.capabilities[kind]))
  const addresses = createAskedAddresses((uri, reason) => events.onNotSubscribed?.(uri, reason))
  /** The stream that the server has acknowledged. It goes on until the server has acknowledged the next one. */
  let telling: Stream | undefined
  /** The one that it has not acknowledged yet. */
  let asking: Stream | undefined
  let isOver = false
  /** Whether it said last that it does not do this, which is told once. */
  let isRefused = false
  /** Whether something may have changed that nobody was there to be told. */
  let hasMissed = false
  let since: number | undefined
  const pauseAfter = reopening(PAUSES)
  let cancelPause: Cancel = () => {}
  let cancelRest: Cancel | undefined
  let restMs = REST_MS.first
  /** How often in a row it could not open a stream for now. */
  let failures = 0
  /** Whether it does with two streams at a time, as far as that is known. */
  let hasRoom = false
  const wantedSince = createWantedSince(clock)
  /** The ids of streams that it has not acknowledged. */
  const unacknowledged = new Set<string>()
  const gaps = createGapTeller(clock, () => sayWhatMayHaveChanged(addresses.sure().uris, lists))

  function open(asked: Asked): void {
    cancelPause()
    asking?.controller.abort()
    asking = undefined
    if (isOver) return
    if (isNothing(asked)) return end()
    const controller = new AbortController()
    const params = { notifications: wish(asked), _meta: envelope() }
    const { id, answer } = line.begin('subscriptions/listen', params, { signal: controller.signal })
    const stream = { id, asked, controller, openedAt: clock.now() }
    asking = stream
    noteId(id)
    void answer.then(() => BROKEN, toEnd).then(how => ended(stream, how))
  }

  function noteId(id: Id | undefined): void {
    unacknowledged.add(String(id))
    for (const oldest of unacknowledged) {
      if (unacknowledged.size <= MOST_GIVEN_UP) return
      unacknowledged.delete(oldest)
    }
  }

  const isNothing = ({ uris }: Asked) => lists.length === 0 && uris.size === 0

  function wish({ uris }: Asked): Params {
    const notifications = Object.fromEntries(lists.map(kind => [LISTS[kind], true]))
    return uris.size === 0 ? notifications : { ...notifications, resourceSubscriptions: [...uris] }
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
    asking = undefined
    if (how.kind === 'refused' || isForAddress(stream, how)) return askForLess(stream.asked, how)
    if (how.kind === 'notNow') {
      refused(how)
      // It may have no place for two.
      if (!hasRoom) giveUpTelling()
    }
    if (!telling) missed()
    reopen(stream)
  }

  /** Whether it is an address that it fails at, and neither a bad moment nor one stream too many. Servers say that with any code. */
  function isForAddress({ asked }: Stream, { kind }: StreamEnd): boolean {
    if (kind !== 'notNow' || asked.tried.length === 0) return false
    return ++failures > MOST_FAILED && (!telling || hasRoom)
  }

  function giveUpTelling(): void {
    telling?.controller.abort()
    telling = undefined
  }

  function askForLess(asked: Asked, refusal: AddressRefusal): void {
    if (!telling) missed()
    if (asked.uris.size === 0) return refused(refusal)
    addresses.refused(asked, refusal)
    failures = 0
    rest()
    if (telling) return askForRest()
    // Lists, and what it took before, do not wait until it is clear which address it refuses. Where it refuses these as well,
    // it is not for an address.
    const sure = addresses.sure()
    open(isNothing(sure) ? addresses.next() : sure)
  }

  function askForRest(): void {
    if (addresses.isLeft()) open(addresses.next())
  }

  /** What it does not take for now is asked for in a while. */
  function rest(): void {
    if (!addresses.isPutOff()) return
    cancelRest ??= clock.after(restMs, () => {
      cancelRest = undefined
      restMs = Math.min(2 * restMs, REST_MS.longest)
      // It may have had place for two, and not any more.
      hasRoom = false
      addresses.resume()
      if (!asking) askForRest()
    })
  }

  function reopen({ openedAt }: Stream): void {
    cancelPause()
    cancelPause = clock.after(pauseAfter(clock.now() - openedAt), () => open(addresses.next()))
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
    asking?.controller.abort()
    telling?.controller.abort()
    asking = undefined
    telling = undefined
    since = undefined
  }

  /** What was heard of late, or not for a while, may have changed before. */
  function sayWhatMayHaveChanged(uris: Iterable<string>, kinds: readonly (keyof typeof LISTS)[]): void {
    for (const kind of kinds) events.onListChanged(kind)
    for (const uri of uris) events.onResourceUpdated(uri)
  }

  void line.ended.then(stop)
  function stop(): void {
    isOver = true
    cancelPause()
    cancelRest?.()
    gaps.stop()
    end()
  }

  open(addresses.next())
  return {
    watch(next) {
      const before = addresses.wanted()
      if (next.size === before.size && [...next].every(uri => before.has(uri))) return
      hasMissed ||= !telling && before.size > 0
      wantedSince.want(next)
      addresses.want(next)
      restMs = REST_MS.first
      open(addresses.next())
    },
    acknowledged(said = {}) {
      if (!asking) return
      // What names none of ours is taken for the last one's. If it was not, the stream may still be refused, and is asked anew.
      const meant = streamMeant(said, asking, unacknowledged)
      if (meant === 'earlier') return
      unacknowledged.delete(String(asking.id))
      failures = 0
      const { asked } = asking
      hasRoom ||= telling !== undefined
      telling?.controller.abort()
      telling = asking
      asking = undefined
      since ??= clock.now()
      isRefused = false
      const fresh = addresses.taken(asked, meant === 'this' ? honouredIn(said) : undefined)
      const wasMissed = hasMissed
      hasMissed = false
      askForRest()
      if (wasMissed) gaps.missed()
      else sayWhatMayHaveChanged(fresh.filter(wantedSince.isLate), [])
    },
    since: () => since,
    stop,
  }
}

const BROKEN: StreamEnd = { kind: 'broken', reason: '' }

function toEnd(error: unknown): StreamEnd {
  // Anything but a clear no may be over in a moment.
  if (error instanceof SendFailure && NO.has(error.status ?? 0))
    return { kind: 'notNow', reason: error.message, isForNow: true }
  if (!(error instanceof RpcError)) return BROKEN
  const { code, message, data } = error
  // Of a resource that is not there the address is given.
  const uri = isRecord(data) && typeof data.uri === 'string' ? data.uri : undefined
  const isRefusal = REFUSALS.has(code)
  return { kind: isRefusal ? 'refused' : 'notNow', reason: message, uri, isForNow: !isRefusal }
}

/** What servers say by HTTP to what they cannot make anything of, and no proxy that cannot reach one. */
const NO: ReadonlySet<number> = new Set([400, 404, 409, 422, 500])

/**
 * Which stream an acknowledgement is about: it names the request of it (MCP 2026-07-28). One before this may have been given up
 * meanwhile.
 */
function streamMeant(
  said: Params,
  { id }: Stream,
  unacknowledged: ReadonlySet<string>,
): 'this' | 'earlier' | 'unknown' {
  const named = metaOf(said)[META.subscriptionId]
  if (!isId(named) || id === undefined) return 'unknown'
  // Some servers write as text what was a number.
  if (String(named) === String(id)) return 'this'
  return unacknowledged.has(String(named)) ? 'earlier' : 'unknown'
}

/** The addresses that it agrees to tell of; nothing where it does not say. */
function honouredIn({ notifications }: Params): ReadonlySet<string> | undefined {
  if (!isRecord(notifications)) return undefined
  const { resourceSubscriptions: uris } = notifications
  return new Set(Array.isArray(uris) ? uris.filter(uri => typeof uri === 'string') : [])
}
