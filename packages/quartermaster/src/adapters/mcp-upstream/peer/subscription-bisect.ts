import { messageOf } from '../../../contracts/index.ts'
import { isRecord } from '../../mcp-wire/index.ts'
import { RPC, RpcError, SendFailure } from './channel.ts'

export interface StreamRequest {
  readonly uris: ReadonlySet<string>
  /** Addresses that the server has not accepted yet. */
  readonly tried: readonly string[]
  /** Whether the server has refused these before, or failed at them. */
  readonly isDoubted: boolean
}

/** Only the lists, without addresses. */
const NONE: StreamRequest = { uris: new Set(), tried: [], isDoubted: false }

/** Why a server refused a stream, and which address it named. */
interface AddressRefusal {
  readonly reason: string
  readonly uri?: string | undefined
  /** Whether the server may accept it later. */
  readonly isForNow?: boolean | undefined
}

/**
 * Selects the addresses to subscribe to. A server may refuse a stream for one address, and often does not say which:
 * the refused ones are halved until it is found. All others stay subscribed.
 */
interface AddressBisect {
  want(uris: ReadonlySet<string>): void
  wanted(): ReadonlySet<string>
  next(): StreamRequest
  acceptedOnly(): StreamRequest
  /** The stream without the addresses that it may have been refused for; nothing where it had none. */
  reduced(asked: StreamRequest): StreamRequest | undefined
  /** The server accepts these, and notifies of the honoured ones, or of all where it does not say. */
  accept(asked: StreamRequest, honoured?: ReadonlySet<string>): void
  onRefused(asked: StreamRequest, refusal: AddressRefusal): void
  hasPostponed(): boolean
  resume(): void
}

/**
 * Finding one address among a thousand takes ten refusals. Where most are bad they are not worth more requests in a
 * row.
 */
const MOST_REFUSALS = 100

const UNCLEAR = `It was refused together with others, and ${MOST_REFUSALS} tries did not show which of them is meant.`
const AGAIN = 'It is asked again in a while.'
const NOT_HONOURED = 'The server did not agree to tell of them.'

export function createAddressBisect(onNotSubscribed: (uri: string, reason: string) => void): AddressBisect {
  let wanted: ReadonlySet<string> = new Set()
  const accepted = new Set<string>()
  const refused = new Set<string>()
  /** Accepted addresses without notifications, reported once. */
  const ignored = new Set<string>()
  /** Groups of addresses that were refused as a whole. Addresses in no group are new. */
  let suspects: readonly (readonly string[])[] = []
  const postponed = new Set<string>()
  const reported = new Set<string>()
  let refusals = 0

  const isSpent = () => refusals >= MOST_REFUSALS

  function unknown(): readonly string[] {
    const known = new Set([...accepted, ...refused, ...postponed, ...suspects.flat()])
    return [...wanted].filter(uri => !known.has(uri))
  }

  /** New addresses are likely to be good, and do not wait for suspects. */
  function next(): StreamRequest {
    if (isSpent()) return acceptedOnly()
    const fresh = unknown()
    return fresh.length > 0 ? asking(fresh, false) : asking(suspects[0] ?? [], true)
  }

  const acceptedOnly = () => asking([], false)

  function asking(tried: readonly string[], isDoubted: boolean): StreamRequest {
    const among = new Set([...accepted, ...tried])
    return { uris: new Set([...wanted].filter(uri => among.has(uri))), tried, isDoubted: isDoubted && tried.length > 0 }
  }

  function doubtOnly(isDoubted: (uri: string) => boolean): void {
    suspects = suspects.map(group => group.filter(isDoubted)).filter(group => group.length > 0)
  }

  function doubtNoMore(uris: ReadonlySet<string>): void {
    doubtOnly(uri => !uris.has(uri))
  }

  function refuse(uri: string, { reason, isForNow = false }: AddressRefusal): void {
    doubtNoMore(new Set([uri]))
    accepted.delete(uri)
    if (!isForNow) {
      refused.add(uri)
      return onNotSubscribed(uri, reason)
    }
    postponed.add(uri)
    reportOnce(uri, reason)
  }

  function reportOnce(uri: string, reason: string): void {
    if (reported.has(uri)) return
    reported.add(uri)
    onNotSubscribed(uri, `${reason} ${AGAIN}`)
  }

  /** The server refuses what it accepted before, so addresses refused together with that may be good. */
  function doubtAll(): void {
    suspects = [[...accepted], [...refused], ...suspects].filter(group => group.length > 0)
    accepted.clear()
    refused.clear()
    refusals++
  }

  function halve(group: readonly string[]): void {
    const middle = Math.ceil(group.length / 2)
    doubtNoMore(new Set(group))
    const halves = [group.slice(0, middle), group.slice(middle)]
    suspects = [...halves.filter(half => half.length > 0), ...suspects]
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
      for (const known of [accepted, refused, ignored, postponed, reported])
        for (const uri of known) if (!uris.has(uri)) known.delete(uri)
      doubtOnly(uri => uris.has(uri))
      if (unknown().length > 0) refusals = 0
    },
    wanted: () => wanted,
    next,
    acceptedOnly,
    reduced({ uris, tried }) {
      if (tried.length > 0) return acceptedOnly()
      return uris.size > 0 ? NONE : undefined
    },
    accept(asked, honoured) {
      // Some may not be wanted any more.
      const uris = [...asked.uris].filter(uri => wanted.has(uri))
      doubtNoMore(asked.uris)
      for (const uri of uris) {
        accepted.add(uri)
        reported.delete(uri)
        noteHonoured(uri, !honoured || honoured.has(uri))
      }
    },
    onRefused({ uris, tried }, refusal) {
      const { uri = '' } = refusal
      const isNamed = uris.has(uri) && !isSpent()
      if (!isNamed && tried.length === 0) return doubtAll()
      refusals++
      // The refused address may not be wanted any more.
      const left = (isNamed ? [uri] : tried).filter(each => wanted.has(each))
      if (!isNamed && tried.length > 1) halve(left)
      else for (const only of left) refuse(only, refusal)
      if (isSpent()) for (const left of [...unknown(), ...suspects.flat()]) reportOnce(left, UNCLEAR)
    },
    hasPostponed: () => postponed.size > 0 || (isSpent() && unknown().length + suspects.length > 0),
    resume() {
      // After the suspects: there may be good ones among those.
      suspects = [...suspects, ...[...postponed].map(uri => [uri])]
      postponed.clear()
      refusals = 0
    },
  }
}

/**
 * How a stream ended. `refused`: for its content. `notNow`: for its content, for one stream too many, or temporarily;
 * servers use any code for each. `broken`: it may be over in a moment, or the server is gone, and the channel ends on
 * its own.
 */
export interface StreamEnd extends AddressRefusal {
  readonly kind: 'refused' | 'notNow' | 'broken'
  /** Whether the stream may have been open until then. */
  readonly wasOpen?: boolean
  /** How long the server asks to be left alone. */
  readonly retryAfterMs?: number | undefined
}

export const ENDED: StreamEnd = { kind: 'broken', reason: 'It ended the stream.', isForNow: true, wasOpen: true }
export const UNANSWERED: StreamEnd = { kind: 'notNow', reason: 'It did not answer.', isForNow: true }

/** Permanent errors: the server lacks the method or the address. */
const REFUSALS: ReadonlySet<number> = new Set([RPC.methodNotFound, RPC.invalidParams, RPC.resourceNotFound])

/** Statuses of servers that do not understand a request, and not of proxies without their server. */
const NO: ReadonlySet<number> = new Set([400, 404, 409, 422, 500])

export function toStreamEnd(error: unknown): StreamEnd {
  if (!(error instanceof RpcError)) {
    const { status = 200, wasSent, retryAfterMs } = error instanceof SendFailure ? error : {}
    const kind = NO.has(status) ? 'notNow' : 'broken'
    const wasOpen = wasSent === 'maybe' && status < 300
    return { kind, reason: messageOf(error), isForNow: true, wasOpen, retryAfterMs }
  }
  const { code, message, data } = error
  const uri = isRecord(data) && typeof data.uri === 'string' ? data.uri : undefined
  const isRefusal = REFUSALS.has(code)
  // A server that does not know the method may be running another version for a while. It says nothing about an
  // address.
  const isForNow = !isRefusal || code === RPC.methodNotFound
  return { kind: isRefusal ? 'refused' : 'notNow', reason: message, uri, isForNow }
}

/** A stream that was not acknowledged, and why. */
export interface Failed {
  readonly request: StreamRequest
  readonly how: StreamEnd
}

/** Facts learned from the streams so far. */
interface StreamRecord {
  readonly acceptsTwoStreams: boolean
  /** Whether an address was once blamed for a failure of the very addresses of the active stream. */
  readonly hasBlamedAddress: boolean
  /** Consecutive failures that were not clearly about an address. */
  readonly failures: number
}

export interface Situation extends Failed {
  /** The stream without the addresses that it may have failed for; nothing where nothing would be left. */
  readonly reduced: StreamRequest | undefined
  /** Whether it was requested in place of a failed stream. */
  readonly isReduced: boolean
  /** Whether another stream is acknowledged meanwhile. */
  readonly hasActiveStream: boolean
  readonly record: StreamRecord
}

/**
 * Why a stream failed. `transient`: temporarily; all is requested again after a pause. `address`: one address in it; the
 * rest is requested without it. `singleStream`: the server accepts no second stream. `allRefused`: it notifies of nothing now.
 * Where that is unclear, less is requested to compare.
 */
type Diagnosis = 'transient' | 'address' | 'singleStream' | 'allRefused' | { readonly reduced: StreamRequest }

/** Failures in a row that may be temporary. */
const MOST_FAILED = 1
/** Breaks in a row that may be temporary, about half a minute, as behind a proxy whose server starts. */
const MOST_BROKEN = 5
/** Failures in a row, about a minute, after which a server that accepted two streams no longer does. */
const MOST_FAILED_WITH_ROOM = 6
/** The same for breaks, about ten minutes: a proxy that lets nothing through does not end existing streams. */
const MOST_BROKEN_WITH_ROOM = 24

export function diagnose({ request, how, reduced, isReduced, hasActiveStream, record }: Situation): Diagnosis {
  const { acceptsTwoStreams, hasBlamedAddress, failures } = record
  if (how.uri !== undefined && request.uris.has(how.uri)) return 'address'
  if (how.kind === 'broken' && !request.isDoubted && failures <= MOST_BROKEN) return 'transient'
  if (how.kind === 'notNow' && !request.isDoubted && !isReduced && failures <= MOST_FAILED) return 'transient'
  // A refusal by a server that accepts two streams can only be about an address, also one that it accepted before.
  const isNew = request.isDoubted || request.tried.length === request.uris.size
  if (how.kind === 'refused' && hasActiveStream && acceptsTwoStreams && isNew && request.uris.size > 0) return 'address'
  // The reduced stream breaks as well: a server that accepted two streams gets much time before it counts as
  // accepting one.
  const isBreaking = how.kind === 'broken' && (isReduced || !reduced)
  if (isBreaking && hasActiveStream && acceptsTwoStreams && failures <= MOST_BROKEN_WITH_ROOM) return 'transient'
  // A server that notifies of these addresses right now, and fails at them again on a second stream, accepts no
  // second stream.
  const isOld = request.tried.length === 0 && request.uris.size > 0
  if (hasActiveStream && hasBlamedAddress && isOld) return 'singleStream'
  if (reduced) return { reduced }
  if (!hasActiveStream) return 'allRefused'
  return !acceptsTwoStreams || failures > MOST_FAILED_WITH_ROOM ? 'singleStream' : 'transient'
}
