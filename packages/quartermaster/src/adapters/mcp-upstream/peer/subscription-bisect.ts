import { messageOf } from '../../../contracts/index.ts'
import { isRecord } from '../../mcp-wire/index.ts'
import { RPC, RpcError, SendFailure } from './channel.ts'

export interface Asked {
  readonly uris: ReadonlySet<string>
  /** Those of them that the server has not accepted yet. */
  readonly tried: readonly string[]
  /** Whether it has refused these before, or failed at them. */
  readonly isDoubted: boolean
}

/** Only the lists, without addresses. */
const NONE: Asked = { uris: new Set(), tried: [], isDoubted: false }

/** Why a server refused a stream, and which address it means, if it says so. */
interface AddressRefusal {
  readonly reason: string
  readonly uri?: string | undefined
  /** It may answer differently in a while. */
  readonly isForNow?: boolean | undefined
}

/**
 * Which addresses to subscribe to. A server may refuse a stream for one address, and often does not say which: the
 * refused ones are halved until it is found. All others stay subscribed.
 */
interface AddressBisect {
  want(uris: ReadonlySet<string>): void
  wanted(): ReadonlySet<string>
  /** The accepted addresses, and some untried ones. */
  next(): Asked
  sure(): Asked
  /** A stream without the addresses that it may have been refused for; nothing where it had none. */
  less(asked: Asked): Asked | undefined
  /** It accepts these, and notifies of those that it honours, or of all where it does not say. */
  taken(asked: Asked, honoured?: ReadonlySet<string>): void
  refused(asked: Asked, refusal: AddressRefusal): void
  /** Whether some are to be requested again later. */
  isPutOff(): boolean
  /** It is time to request those. */
  resume(): void
}

/** Finding one among a thousand takes ten. Where most are bad they are not worth more requests in a row. */
const MOST_REFUSALS = 100

const UNCLEAR = `It was refused together with others, and ${MOST_REFUSALS} tries did not show which of them is meant.`
const AGAIN = 'It is asked again in a while.'
const NOT_HONOURED = 'The server did not agree to tell of them.'

export function createAddressBisect(onNotSubscribed: (uri: string, reason: string) => void): AddressBisect {
  let wanted: ReadonlySet<string> = new Set()
  const taken = new Set<string>()
  const refused = new Set<string>()
  /** Accepted addresses that it does not notify of, reported once. */
  const ignored = new Set<string>()
  /** Each group was refused as a whole. Addresses in no group are new. */
  let doubted: readonly (readonly string[])[] = []
  /** Each of these was refused for now. */
  const putOff = new Set<string>()
  const told = new Set<string>()
  let refusals = 0

  const isSpent = () => refusals >= MOST_REFUSALS

  function unknown(): readonly string[] {
    const known = new Set([...taken, ...refused, ...putOff, ...doubted.flat()])
    return [...wanted].filter(uri => !known.has(uri))
  }

  /** New addresses are likely to be good, and do not wait for doubtful ones. */
  function next(): Asked {
    if (isSpent()) return sure()
    const fresh = unknown()
    return fresh.length > 0 ? asking(fresh, false) : asking(doubted[0] ?? [], true)
  }

  const sure = () => asking([], false)

  function asking(tried: readonly string[], isDoubted: boolean): Asked {
    const among = new Set([...taken, ...tried])
    return { uris: new Set([...wanted].filter(uri => among.has(uri))), tried, isDoubted: isDoubted && tried.length > 0 }
  }

  function doubtOnly(isDoubted: (uri: string) => boolean): void {
    doubted = doubted.map(group => group.filter(isDoubted)).filter(group => group.length > 0)
  }

  function doubtNoMore(uris: ReadonlySet<string>): void {
    doubtOnly(uri => !uris.has(uri))
  }

  function refuse(uri: string, { reason, isForNow = false }: AddressRefusal): void {
    doubtNoMore(new Set([uri]))
    taken.delete(uri)
    if (!isForNow) {
      refused.add(uri)
      return onNotSubscribed(uri, reason)
    }
    putOff.add(uri)
    tellOnce(uri, reason)
  }

  function tellOnce(uri: string, reason: string): void {
    if (told.has(uri)) return
    told.add(uri)
    onNotSubscribed(uri, `${reason} ${AGAIN}`)
  }

  /** It refuses what it accepted before. What was refused together with that may be good. */
  function doubtAll(): void {
    doubted = [[...taken], [...refused], ...doubted].filter(group => group.length > 0)
    taken.clear()
    refused.clear()
    refusals++
  }

  function halve(group: readonly string[]): void {
    const middle = Math.ceil(group.length / 2)
    doubtNoMore(new Set(group))
    const halves = [group.slice(0, middle), group.slice(middle)]
    doubted = [...halves.filter(half => half.length > 0), ...doubted]
  }

  function noteHonoured(uri: string, isHonoured: boolean): void {
    if (isHonoured) return void ignored.delete(uri)
    if (ignored.has(uri)) return
    ignored.add(uri)
    onNotSubscribed(uri, NOT_HONOURED)
  }

  return {
    want(uris) {
      wanted = uris
      for (const known of [taken, refused, ignored, putOff, told])
        for (const uri of known) if (!uris.has(uri)) known.delete(uri)
      doubtOnly(uri => uris.has(uri))
      if (unknown().length > 0) refusals = 0
    },
    wanted: () => wanted,
    next,
    sure,
    less({ uris, tried }) {
      if (tried.length > 0) return sure()
      return uris.size > 0 ? NONE : undefined
    },
    taken(asked, honoured) {
      // Some may not be wanted any more.
      const uris = [...asked.uris].filter(uri => wanted.has(uri))
      doubtNoMore(asked.uris)
      for (const uri of uris) {
        taken.add(uri)
        told.delete(uri)
        noteHonoured(uri, !honoured || honoured.has(uri))
      }
    },
    refused({ uris, tried }, refusal) {
      const { uri = '' } = refusal
      const isNamed = uris.has(uri) && !isSpent()
      if (!isNamed && tried.length === 0) return doubtAll()
      refusals++
      // It may have been refused for one that is not wanted any more.
      const left = (isNamed ? [uri] : tried).filter(each => wanted.has(each))
      if (!isNamed && tried.length > 1) halve(left)
      else for (const only of left) refuse(only, refusal)
      if (isSpent()) for (const left of [...unknown(), ...doubted.flat()]) tellOnce(left, UNCLEAR)
    },
    isPutOff: () => putOff.size > 0 || (isSpent() && unknown().length + doubted.length > 0),
    resume() {
      // Behind the doubtful ones: there may be good ones among those.
      doubted = [...doubted, ...[...putOff].map(uri => [uri])]
      putOff.clear()
      refusals = 0
    },
  }
}

/**
 * How a stream of changes ended. `refused`: for its content. `notNow`: for that, for one stream too many, or
 * temporarily; servers use any code for each. `broken`: it may be over in a moment, or the server is gone, and the
 * channel ends by itself.
 */
export interface StreamEnd extends AddressRefusal {
  readonly kind: 'refused' | 'notNow' | 'broken'
  /** Whether it may have been open until then. */
  readonly wasOpen?: boolean
  /** How long it asks to be left alone. */
  readonly retryAfterMs?: number | undefined
}

/** It ended the stream on its own. */
export const ENDED: StreamEnd = { kind: 'broken', reason: 'It ended the stream.', isForNow: true, wasOpen: true }
/** Neither an end nor an acknowledgement. */
export const UNANSWERED: StreamEnd = { kind: 'notNow', reason: 'It did not answer.', isForNow: true }

/** A server that answers so would do it again: it lacks the method or the address. */
const REFUSALS: ReadonlySet<number> = new Set([RPC.methodNotFound, RPC.invalidParams, RPC.resourceNotFound])

/** Statuses of servers that do not understand a request, and of no proxy without its server. */
const NO: ReadonlySet<number> = new Set([400, 404, 409, 422, 500])

export function toStreamEnd(error: unknown): StreamEnd {
  if (!(error instanceof RpcError)) {
    const { status = 200, wasSent, retryAfterMs } = error instanceof SendFailure ? error : {}
    // Anything but a clear refusal may be over in a moment.
    const kind = NO.has(status) ? 'notNow' : 'broken'
    const wasOpen = wasSent === 'maybe' && status < 300
    return { kind, reason: messageOf(error), isForNow: true, wasOpen, retryAfterMs }
  }
  const { code, message, data } = error
  // For a resource that does not exist the address is given.
  const uri = isRecord(data) && typeof data.uri === 'string' ? data.uri : undefined
  const isRefusal = REFUSALS.has(code)
  // A server that does not know the method may be running another version for a while. It says nothing about an
  // address.
  const isForNow = !isRefusal || code === RPC.methodNotFound
  return { kind: isRefusal ? 'refused' : 'notNow', reason: message, uri, isForNow }
}

/** A stream that was not acknowledged, and why. */
export interface Failed {
  readonly asked: Asked
  readonly how: StreamEnd
}

/** What is known of a server from its streams so far. */
interface StreamRecord {
  /** Whether it has accepted two streams at a time. */
  readonly hasRoom: boolean
  /** Whether an address was once blamed for a failure with the very addresses that it was notifying of. */
  readonly hasDoubted: boolean
  /** Consecutive failures that were not clearly about an address. */
  readonly failures: number
}

export interface Situation extends Failed {
  /** The stream without those that it may have failed for; nothing where nothing would be left. */
  readonly less: Asked | undefined
  /** Whether it was requested in place of one that failed before. */
  readonly isLess: boolean
  /** Whether another stream is acknowledged meanwhile. */
  readonly isTelling: boolean
  readonly record: StreamRecord
}

/**
 * Why a stream failed, and so what comes next. `moment`: temporarily; all is requested again after a pause. `address`:
 * one in it; the rest is requested without it. `second`: the server accepts no second stream. `all`: it notifies of
 * nothing now. Where that is unclear, less is requested to compare.
 */
type Verdict = 'moment' | 'address' | 'second' | 'all' | { readonly less: Asked }

/** Failures in a row that may be temporary. */
const MOST_FAILED = 1
/** Breaks in a row that may be temporary, about half a minute: there may be a proxy before a starting server. */
const MOST_BROKEN = 5
/** The same where it accepted two streams before, about a minute. Then it no longer does. */
const MOST_FAILED_WITH_ROOM = 6
/** The same for breaks, about ten minutes: a proxy that lets nothing through does not end what exists. */
const MOST_BROKEN_WITH_ROOM = 24

export function diagnose({ asked, how, less, isLess, isTelling, record }: Situation): Verdict {
  const { hasRoom, hasDoubted, failures } = record
  if (how.uri !== undefined && asked.uris.has(how.uri)) return 'address'
  // A failed request is not repeated.
  if (how.kind === 'broken' && !asked.isDoubted && failures <= MOST_BROKEN) return 'moment'
  if (how.kind === 'notNow' && !asked.isDoubted && !isLess && failures <= MOST_FAILED) return 'moment'
  // A refusal though it accepts two streams can only be about an address, also one that it accepted before.
  const isNew = asked.isDoubted || asked.tried.length === asked.uris.size
  if (how.kind === 'refused' && isTelling && hasRoom && isNew && asked.uris.size > 0) return 'address'
  // It breaks with less as well, and has accepted two streams: much time passes before it counts as accepting one only,
  // as below.
  const isBreaking = how.kind === 'broken' && (isLess || !less)
  if (isBreaking && isTelling && hasRoom && failures <= MOST_BROKEN_WITH_ROOM) return 'moment'
  // A server that notifies of these right now, and fails at them again on a second stream, accepts no second stream.
  const isOld = asked.tried.length === 0 && asked.uris.size > 0
  if (isTelling && hasDoubted && isOld) return 'second'
  if (less) return { less }
  if (!isTelling) return 'all'
  return !hasRoom || failures > MOST_FAILED_WITH_ROOM ? 'second' : 'moment'
}
