import type { Cancel, Clock } from '../../../core/kernel/index.ts'
import type { SessionEvents } from './session.ts'

type ListKind = Parameters<SessionEvents['onListChanged']>[0]

/**
 * Tracks which addresses a server notifies of. Changes during a gap are unknown, so every address that may be
 * affected is reported.
 */
interface SubscriptionTimes {
  setWanted(uris: ReadonlySet<string>): void
  /** From now on the server notifies of these and of the lists, and of no others. */
  onStreamActive(uris: ReadonlySet<string>): void
  onStreamLost(): void
  /** Since when the server notifies without a gap; nothing while it does not. */
  since(): number | undefined
  stop(): void
}

interface SubscriptionTimesDeps {
  readonly clock: Clock
  readonly lists: readonly ListKind[]
  readonly events: Pick<SessionEvents, 'onListChanged' | 'onResourceUpdated'>
}

export function createSubscriptionTimes({ clock, lists, events }: SubscriptionTimesDeps): SubscriptionTimes {
  const wantedSince = createWantedSince(clock)
  const gaps = createGapReporter(clock, reportAll)
  /** The addresses of the current or last stream. */
  let covered: ReadonlySet<string> = new Set()
  let since: number | undefined
  let hasMissed = false

  function reportAll(): void {
    for (const kind of lists) events.onListChanged(kind)
    for (const uri of covered) if (wantedSince.isWanted(uri)) events.onResourceUpdated(uri)
  }

  return {
    setWanted: wantedSince.setWanted,
    onStreamActive(uris) {
      const fresh = [...uris].filter(uri => !covered.has(uri))
      const wasMissed = hasMissed
      covered = uris
      since ??= clock.now()
      hasMissed = false
      if (wasMissed) gaps.missed()
      else for (const uri of fresh) if (wantedSince.isLate(uri)) events.onResourceUpdated(uri)
    },
    onStreamLost() {
      since = undefined
      hasMissed = true
    },
    since: () => since,
    stop() {
      since = undefined
      gaps.stop()
    },
  }
}

/** Since when addresses are wanted. From then on subscribers rely on notifications. */
interface WantedSince {
  setWanted(uris: ReadonlySet<string>): void
  isWanted(uri: string): boolean
  /** Whether a subscriber may have missed a change if the server begins to notify only now. */
  isLate(uri: string): boolean
}

/** Subscribers usually read as well, but not earlier than this before they subscribe. */
const MOMENT_MS = 100

export function createWantedSince(clock: Clock): WantedSince {
  const since = new Map<string, number>()
  return {
    setWanted(uris) {
      for (const uri of since.keys()) if (!uris.has(uri)) since.delete(uri)
      for (const uri of uris) if (!since.has(uri)) since.set(uri, clock.now())
    },
    isWanted: uri => since.has(uri),
    isLate(uri) {
      const from = since.get(uri)
      return from !== undefined && clock.now() - from > MOMENT_MS
    },
  }
}

/** Reports possibly missed notifications: at once, and less often where gaps continue. */
interface GapReporter {
  missed(): void
  stop(): void
}

/** A server whose streams never last would otherwise make all clients reload all the time. */
const PAUSE_MS = { least: 5_000, most: 30_000 }

export function createGapReporter(clock: Clock, tell: () => void): GapReporter {
  let told = { at: Number.NEGATIVE_INFINITY, pauseMs: PAUSE_MS.least }
  let cancel: Cancel | undefined

  function reportNow(): void {
    cancel = undefined
    const at = clock.now()
    const goesOn = at - told.at < 2 * PAUSE_MS.most
    told = { at, pauseMs: goesOn ? Math.min(2 * told.pauseMs, PAUSE_MS.most) : PAUSE_MS.least }
    tell()
  }

  return {
    missed() {
      if (cancel) return
      const leftMs = told.at + told.pauseMs - clock.now()
      if (leftMs <= 0) reportNow()
      else cancel = clock.after(leftMs, reportNow)
    },
    stop() {
      cancel?.()
      cancel = undefined
    },
  }
}
