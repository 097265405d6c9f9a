import type { Clock } from '../../../core/kernel/index.ts'
import { createGapTeller } from './gap-teller.ts'
import type { SessionEvents } from './session.ts'
import { createWantedSince } from './wanted-since.ts'

type ListKind = Parameters<SessionEvents['onListChanged']>[0]

/** What a server tells of. What changed while it did not tell is not known, so that is said of everything it may be. */
export interface Heard {
  /** These are wanted, and no others. */
  want(uris: ReadonlySet<string>): void
  /** From now on it tells of these and of the lists, in place of what it told of before. */
  tells(uris: ReadonlySet<string>): void
  /** It tells of nothing any more. */
  silent(): void
  /** Since when it tells without a break; nothing while it does not. */
  since(): number | undefined
  stop(): void
}

export interface HeardDeps {
  readonly clock: Clock
  readonly lists: readonly ListKind[]
  readonly events: Pick<SessionEvents, 'onListChanged' | 'onResourceUpdated'>
}

export function createHeard({ clock, lists, events }: HeardDeps): Heard {
  const wantedSince = createWantedSince(clock)
  const gaps = createGapTeller(clock, sayAll)
  /** What it tells of, or told of last. */
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
