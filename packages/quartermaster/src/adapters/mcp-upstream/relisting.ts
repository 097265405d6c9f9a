import type { Cancel, Clock } from '../../core/kernel/index.ts'

/** Has a server asked again what it has: soon after it told of a change, and every now and then. */
export interface Relisting {
  /** As soon as it may be. */
  soon(): void
  /** In a while, unless it happens before. */
  later(ms: number): void
  /** It was listed: whether anything had changed, and how long finding out took. */
  listed(facts: { readonly changed: boolean; readonly tookMs: number }): void
  stop(): void
}

export interface RelistingDeps {
  readonly clock: Clock
  list(): Promise<void>
}

/** Changes that a server tells of in quick succession are looked at together. */
const PAUSE_MS = 1_000
/** A server that is never the same is looked at ever less often, and never for more than a small part of the time. */
const LONGEST_PAUSE_MS = 60_000
const PART_OF_THE_TIME = 20

export function createRelisting({ clock, list }: RelistingDeps): Relisting {
  let last = Number.NEGATIVE_INFINITY
  let pauseMs = PAUSE_MS
  let changes = 0
  let isDue = false
  let isOver = false
  let lists: Promise<void> = Promise.resolve()
  let cancelLater: Cancel = () => {}

  function soon(): void {
    if (isDue || isOver) return
    isDue = true
    clock.after(Math.max(0, last + pauseMs - clock.now()), () => {
      isDue = false
      if (!isOver) lists = lists.then(list)
    })
  }

  return {
    soon,
    later(ms) {
      cancelLater()
      cancelLater = clock.after(ms, soon)
    },
    listed({ changed, tookMs }) {
      last = clock.now()
      // The first listing of a start changes what is known as a rule.
      changes = changed ? changes + 1 : 0
      const patience = PAUSE_MS * 2 ** Math.max(0, Math.min(changes, 10) - 1)
      pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(patience, tookMs * PART_OF_THE_TIME))
    },
    stop() {
      isOver = true
      cancelLater()
    },
  }
}
