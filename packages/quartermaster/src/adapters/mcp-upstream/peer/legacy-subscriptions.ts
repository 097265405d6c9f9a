import { messageOf } from '../../../contracts/index.ts'
import { type Clock, createLimit } from '../../../core/kernel/index.ts'
import { pause } from './abort.ts'
import { RpcError, SendFailure } from './channel.ts'
import type { SessionEvents } from './session.ts'
import { createWantedSince } from './subscription-times.ts'

/** Keeps subscriptions of a server before 2026-07-28 at the wanted addresses and no others. */
interface LegacySubscriptions {
  want(uris: ReadonlySet<string>): void
  wanted(): ReadonlySet<string>
}

export type SubscriptionMethod = 'resources/subscribe' | 'resources/unsubscribe'

interface LegacySubscriptionsDeps {
  readonly clock: Clock
  /** Resolves when the session has ended. */
  readonly ended: Promise<unknown>
  readonly events: Pick<SessionEvents, 'onResourceUpdated' | 'onNotSubscribed'>
  /**
   * Resolves when the server has answered. Rejects with an `RpcError` when it refuses, and otherwise when the outcome
   * is unknown.
   */
  ask(method: SubscriptionMethod, uri: string): Promise<unknown>
}

/** A restarted server would get hundreds of requests at once; other requests need answers meanwhile. */
const MOST_AT_A_TIME = 8
const PAUSES = { firstMs: 500, longestMs: 30_000 }
/** A server's wait is respected, but not so long that notifications are missing for long. */
const LONGEST_ASKED_MS = 60_000
/** One exchange may fail alone; that is not reported. */
const TOLD_AFTER = 2
/** A server that accepts all else and refuses this so often means it. Each 401 would cost another token. */
const MOST_LOCKED_OUT = 5

export function createLegacySubscriptions(deps: LegacySubscriptionsDeps): LegacySubscriptions {
  const { clock, events, ask } = deps
  let wanted: ReadonlySet<string> = new Set()
  const wantedSince = createWantedSince(clock)
  /** Addresses last requested from the server, whatever its answer. */
  const told = new Set<string>()
  const atWork = new Set<string>()
  /** Addresses waiting for a retry, and how to retry at once. */
  const waiting = new Map<string, AbortController>()
  const inTurn = createLimit(MOST_AT_A_TIME)
  let isOver = false

  const isDue = (uri: string) => !isOver && wanted.has(uri) !== told.has(uri)

  /** One after the other: two open requests may overtake each other, and the last one decides. */
  async function settle(uri: string): Promise<void> {
    if (atWork.has(uri)) return
    atWork.add(uri)
    while (isDue(uri)) await tellOnce(uri)
    atWork.delete(uri)
  }

  function tellOnce(uri: string): Promise<void> {
    return told.delete(uri) ? unsubscribe(uri) : subscribe(uri)
  }

  /** Until the server has answered, which a busy server, or a proxy before a restarting one, does not for a moment. */
  async function subscribe(uri: string): Promise<void> {
    const retries = createRetries()
    do {
      const failure = await inTurn(() => askToTell(uri))
      if (!failure) return subscribed(uri)
      // The next session subscribes again.
      if (isOver || failure === UNASKED) return
      const { isLast, isTold, pauseMs } = retries.add(failure.why)
      const reason = messageOf(failure.why)
      if (isLast || isTold) events.onNotSubscribed?.(uri, isLast ? reason : `${reason} It is asked again.`)
      if (isLast) return
      await wait(uri, pauseMs)
    } while (isWanted(uri))
  }

  /** When its turn comes it may not be wanted any more. */
  async function askToTell(uri: string): Promise<Failure | undefined> {
    if (!isWanted(uri)) return UNASKED
    told.add(uri)
    return failureOf(ask('resources/subscribe', uri))
  }

  /** Twice is the same as once. Notifications that still arrive are dropped. */
  async function unsubscribe(uri: string): Promise<void> {
    const failure = await inTurn(() => askToBeSilent(uri))
    if (failure?.why instanceof SendFailure) await inTurn(() => askToBeSilent(uri))
  }

  async function askToBeSilent(uri: string): Promise<Failure | undefined> {
    return isOver ? UNASKED : failureOf(ask('resources/unsubscribe', uri))
  }

  const isWanted = (uri: string) => !isOver && wanted.has(uri)

  /** Changes before its answer may not have been notified. */
  function subscribed(uri: string): void {
    if (wantedSince.isLate(uri)) events.onResourceUpdated(uri)
  }

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

/** What to do about an address after a failure. */
interface Retry {
  readonly isLast: boolean
  /** Whether to report it although it is retried: once. */
  readonly isTold: boolean
  readonly pauseMs: number
}

/** Counts failed requests for an address. */
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
