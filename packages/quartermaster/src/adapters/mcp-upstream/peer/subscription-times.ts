import type { Cancel, Clock } from '../../../core/kernel/index.ts'
import type { SessionEvents } from './session.ts'

type ListKind = Parameters<SessionEvents['onListChanged']>[0]

/**
 * Which addresses a server notifies of. Changes during a gap are unknown, so every address that may be affected is
 * reported.
 */
interface SubscriptionTimes {
  /** These are wanted, and no others. */
  want(uris: ReadonlySet<string>): void
  /** From now on it notifies of these and of the lists, instead of the earlier ones. */
  tells(uris: ReadonlySet<string>): void
  /** It no longer notifies of anything. */
  silent(): void
  /** Since when it notifies without a gap; nothing while it does not. */
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
  const gaps = createGapReporter(clock, sayAll)
  /** What it notifies of, or did last. */
  let told: ReadonlySet<string> = new Set()
  let since: number | undefined
  let hasMissed = false

  function sayAll(): void {
    for (const kind of lists) events.onListChanged(kind)
    for (const uri of told) if (wantedSince.isWanted(uri)) events.onResourceUpdated(uri)
  }

  return {
    want: wantedSince.want,
    tells(uris) {
      const fresh = [...uris].filter(uri => !told.has(uri))
      const wasMissed = hasMissed
      told = uris
      since ??= clock.now()
      hasMissed = false
      if (wasMissed) gaps.missed()
      else for (const uri of fresh) if (wantedSince.isLate(uri)) events.onResourceUpdated(uri)
    },
    silent() {
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
  /** These are wanted, and no others. */
  want(uris: ReadonlySet<string>): void
  isWanted(uri: string): boolean
  /** Whether a subscriber may have missed a change if the server begins to notify only now. */
  isLate(uri: string): boolean
}

/** Subscribers usually read as well, but hardly within this time before they subscribe. */
const MOMENT_MS = 100

export function createWantedSince(clock: Clock): WantedSince {
  const since = new Map<string, number>()
  return {
    want(uris) {
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

/** Reports possibly missed notifications: at once, and less often where that goes on. */
interface GapReporter {
  missed(): void
  stop(): void
}

/** A server whose streams never last would make all clients reload all the time. */
const PAUSE_MS = { least: 5_000, most: 30_000 }

export function createGapReporter(clock: Clock, tell: () => void): GapReporter {
  let told = { at: Number.NEGATIVE_INFINITY, pauseMs: PAUSE_MS.least }
  let cancel: Cancel | undefined

  function tellNow(): void {
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
      if (leftMs <= 0) tellNow()
      else cancel = clock.after(leftMs, tellNow)
    },
    stop() {
      cancel?.()
      cancel = undefined
    },
  }
}
