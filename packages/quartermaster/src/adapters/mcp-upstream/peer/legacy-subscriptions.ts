import { messageOf } from '../../../contracts/index.ts'
import { type Clock, createLimit } from '../../../core/kernel/index.ts'
import { pause } from './abort.ts'
import { RpcError, SendFailure } from './channel.ts'
import type { SessionEvents } from './session.ts'
import { createWantedSince } from './subscription-times.ts'

/** Keeps subscriptions of a server before 2026-07-28 at the wanted addresses and no others. */
interface LegacySubscriptions {
  setWanted(uris: ReadonlySet<string>): void
  wanted(): ReadonlySet<string>
}

export type SubscriptionMethod = 'resources/subscribe' | 'resources/unsubscribe'

interface LegacySubscriptionsDeps {
  readonly clock: Clock
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
/** However long a server asks for: notifications are missing meanwhile. */
const LONGEST_ASKED_MS = 60_000
/** A single failure is not reported. */
const TOLD_AFTER = 2
/** A server that accepts all else and refuses this so often means it. Each 401 would cost another token. */
const MOST_LOCKED_OUT = 5

export function createLegacySubscriptions(deps: LegacySubscriptionsDeps): LegacySubscriptions {
  const { clock, events, ask } = deps
  let wanted: ReadonlySet<string> = new Set()
  const wantedSince = createWantedSince(clock)
  /** Addresses last subscribed to at the server, whatever its answer. */
  const requested = new Set<string>()
  const settling = new Set<string>()
  const waiting = new Map<string, AbortController>()
  const inTurn = createLimit(MOST_AT_A_TIME)
  let isOver = false

  const isDue = (uri: string) => !isOver && wanted.has(uri) !== requested.has(uri)

  /** One request per address at a time: two may overtake each other, and the last decides. */
  async function settle(uri: string): Promise<void> {
    if (settling.has(uri)) return
    settling.add(uri)
    while (isDue(uri)) await sendNext(uri)
    settling.delete(uri)
  }

  function sendNext(uri: string): Promise<void> {
    return requested.delete(uri) ? unsubscribe(uri) : subscribe(uri)
  }

  /** Repeats until the server answers; a busy server, or a proxy before a restarting one, does not for a moment. */
  async function subscribe(uri: string): Promise<void> {
    const retries = createRetries()
    do {
      const failure = await inTurn(() => sendSubscribe(uri))
      if (!failure) return subscribed(uri)
      // The next session subscribes again.
      if (isOver || failure === NOT_SENT) return
      const { isLast, isReported, pauseMs } = retries.add(failure.why)
      const reason = messageOf(failure.why)
      if (isLast || isReported) events.onNotSubscribed?.(uri, isLast ? reason : `${reason} It is asked again.`)
      if (isLast) return
      await wait(uri, pauseMs)
    } while (isWanted(uri))
  }

  /** The address may not be wanted any more. */
  async function sendSubscribe(uri: string): Promise<Failure | undefined> {
    if (!isWanted(uri)) return NOT_SENT
    requested.add(uri)
    return failureOf(ask('resources/subscribe', uri))
  }

  /** Idempotent. Notifications that still arrive are dropped. */
  async function unsubscribe(uri: string): Promise<void> {
    const failure = await inTurn(() => sendUnsubscribe(uri))
    if (failure?.why instanceof SendFailure) await inTurn(() => sendUnsubscribe(uri))
  }

  async function sendUnsubscribe(uri: string): Promise<Failure | undefined> {
    return isOver ? NOT_SENT : failureOf(ask('resources/unsubscribe', uri))
  }

  const isWanted = (uri: string) => !isOver && wanted.has(uri)

  /** Changes before the server's answer may not have been notified. */
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
    setWanted(uris) {
      wantedSince.setWanted(uris)
      wanted = uris
      for (const [uri, controller] of waiting) if (!uris.has(uri)) controller.abort()
      for (const uri of new Set([...uris, ...requested])) void settle(uri)
    },
    wanted: () => wanted,
  }
}

interface Retry {
  readonly isLast: boolean
  /** Whether to report it although it is retried. */
  readonly isReported: boolean
  readonly pauseMs: number
}

/** Counts failed requests for an address. */
function createRetries(): { add(why: unknown): Retry } {
  let count = 0
  let deniedInARow = 0
  return {
    add(why) {
      const { status, retryAfterMs = 0 } = why instanceof SendFailure ? why : {}
      const isLockedOut = status === 401 || status === 403
      const grownMs = Math.min(PAUSES.firstMs * 2 ** count++, PAUSES.longestMs)
      deniedInARow = isLockedOut ? deniedInARow + 1 : 0
      return {
        isLast: why instanceof RpcError || deniedInARow >= MOST_LOCKED_OUT,
        isReported: count === TOLD_AFTER,
        pauseMs: Math.max(grownMs, Math.min(retryAfterMs, LONGEST_ASKED_MS)),
      }
    },
  }
}

interface Failure {
  readonly why: unknown
}

const NOT_SENT: Failure = { why: undefined }

async function failureOf(asking: Promise<unknown>): Promise<Failure | undefined> {
  try {
    await asking
    return undefined
  } catch (why) {
    return { why }
  }
}
