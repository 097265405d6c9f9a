import { messageOf } from '../../../contracts/index.ts'
import { type Clock, createLimit } from '../../../core/kernel/index.ts'
import { pause } from '../pausing.ts'
import { SendFailure } from './channel.ts'
import { RpcError } from './rpc-error.ts'
import type { SessionEvents } from './session.ts'
import { createWantedSince } from './wanted-since.ts'

/** Has a server of the era before 2026-07-28 tell of changes at some addresses and no others. */
export interface LegacySubscriptions {
  want(uris: ReadonlySet<string>): void
  wanted(): ReadonlySet<string>
}

export type SubscriptionMethod = 'resources/subscribe' | 'resources/unsubscribe'

export interface LegacySubscriptionsDeps {
  readonly clock: Clock
  /** Resolves when the session is over. */
  readonly ended: Promise<unknown>
  readonly events: Pick<SessionEvents, 'onResourceUpdated' | 'onNotSubscribed'>
  /** Resolves when the server has answered. Rejects with an `RpcError` when it says no, and otherwise when nobody knows. */
  ask(method: SubscriptionMethod, uri: string): Promise<unknown>
}

/** A server that is there anew would get hundreds of requests in one go; others are to be answered meanwhile. */
const MOST_AT_A_TIME = 8
const PAUSES = { firstMs: 500, longestMs: 30_000 }
/** A server that asks to be left alone is, but not for so long that nobody hears of changes. */
const LONGEST_ASKED_MS = 60_000
/** One exchange may break without the others, and that is nobody's concern. */
const TOLD_AFTER = 2
/** Whoever lets everything else in and refuses this so often means it. With each 401 another token would be had for it. */
const MOST_LOCKED_OUT = 5

export function createLegacySubscriptions(deps: LegacySubscriptionsDeps): LegacySubscriptions {
  const { clock, events, ask } = deps
  let wanted: ReadonlySet<string> = new Set()
  const wantedSince = createWantedSince(clock)
  /** What the server was asked last to tell of, whatever it made of it. */
  const told = new Set<string>()
  const atWork = new Set<string>()
  /** Those that are asked for again in a while, and how to have that at once. */
  const waiting = new Map<string, AbortController>()
  const inTurn = createLimit(MOST_AT_A_TIME)
  let isOver = false

  const isDue = (uri: string) => !isOver && wanted.has(uri) !== told.has(uri)

  /** One after the other: two that are under way at a time may overtake each other, and the last one counts. */
  async function settle(uri: string): Promise<void> {
    if (atWork.has(uri)) return
    atWork.add(uri)
    while (isDue(uri)) await tellOnce(uri)
    atWork.delete(uri)
  }

  function tellOnce(uri: string): Promise<void> {
    return told.delete(uri) ? unsubscribe(uri) : subscribe(uri)
  }

  /** Until the server has answered, which it does not for a moment when it is busy or a proxy before it restarts. */
  async function subscribe(uri: string): Promise<void> {
    const retries = createRetries()
    do {
      const failure = await inTurn(() => askToTell(uri))
      if (!failure) return subscribed(uri)
      // Whoever comes after this session is subscribed to anew.
      if (isOver || failure === UNASKED) return
      const { isLast, isTold, pauseMs } = retries.add(failure.why)
      const reason = messageOf(failure.why)
      if (isLast || isTold) events.onNotSubscribed?.(uri, isLast ? reason : `${reason} It is asked again.`)
      if (isLast) return
      await wait(uri, pauseMs)
    } while (isWanted(uri))
  }

  /** When it is its turn: nobody may want it any more by then. */
  async function askToTell(uri: string): Promise<Failure | undefined> {
    if (!isWanted(uri)) return UNASKED
    told.add(uri)
    return failureOf(ask('resources/subscribe', uri))
  }

  /** Twice is the same as once. What one still tells that was to be silent reaches nobody. */
  async function unsubscribe(uri: string): Promise<void> {
    const failure = await inTurn(() => askToBeSilent(uri))
    if (failure?.why instanceof SendFailure) await inTurn(() => askToBeSilent(uri))
  }

  async function askToBeSilent(uri: string): Promise<Failure | undefined> {
    return isOver ? UNASKED : failureOf(ask('resources/unsubscribe', uri))
  }

  const isWanted = (uri: string) => !isOver && wanted.has(uri)

  /** Before it had answered the server may have told nobody of what changed. */
  function subscribed(uri: string): void {
    if (wantedSince.isLate(uri)) events.onResourceUpdated(uri)
  }

  /** For as long as somebody wants it. */
  async function wait(uri: string, ms: number): Promise<void> {
    if (!isWanted(uri)) return
    const controller = new AbortController()
    waiting.set(uri, controller)
    await pause(ms, { clock, signal: controller.signal })
    waiting.delete(uri)
  }

  void deps.ended.then(() => {
    isOver = true
    for (const controller of waiting.values()) controller.abort()
  })

  return {
    want(uris) {
      wantedSince.want(uris)
      wanted = uris
      for (const [uri, controller] of waiting) if (!uris.has(uri)) controller.abort()
      for (const uri of new Set([...uris, ...told])) void settle(uri)
    },
    wanted: () => wanted,
  }
}

/** What becomes of an address after a failure. */
interface Retry {
  /** Whether the server would say the same again. */
  readonly isLast: boolean
  /** Whether people are told although it goes on: once. */
  readonly isTold: boolean
  readonly pauseMs: number
}

/** Counts how often a server could not be asked for an address. */
function createRetries(): { add(why: unknown): Retry } {
  let count = 0
  let lockedOut = 0
  return {
    add(why) {
      const { status, retryAfterMs = 0 } = why instanceof SendFailure ? why : {}
      const isLockedOut = status === 401 || status === 403
      const grownMs = Math.min(PAUSES.firstMs * 2 ** count++, PAUSES.longestMs)
      lockedOut = isLockedOut ? lockedOut + 1 : 0
      return {
        isLast: why instanceof RpcError || lockedOut >= MOST_LOCKED_OUT,
        isTold: count === TOLD_AFTER,
        pauseMs: Math.max(grownMs, Math.min(retryAfterMs, LONGEST_ASKED_MS)),
      }
    },
  }
}

interface Failure {
  readonly why: unknown
}

const UNASKED: Failure = { why: undefined }

async function failureOf(asking: Promise<unknown>): Promise<Failure | undefined> {
  try {
    await asking
    return undefined
  } catch (why) {
    return { why }
  }
}
