import type { Clock } from '../kernel/index.ts'

/** Notices when something is over by its time, with one timer for all of it. */
export interface ExpiryWatch {
  /** Tells of it at that time; a later word about the same id replaces this one. */
  expect(id: string, expiresAt: number): void
  /** It has ended otherwise, or has no end any more. */
  forget(id: string): void
}

export interface ExpiryWatchDeps {
  readonly clock: Clock
  /** Called once for each that is over. */
  onExpired(id: string): void
}

/**
 * A timer stands still while the machine sleeps and the clock does not, so it is never set for longer: what ended during
 * a night is told of within a minute of the morning. It also keeps every wait far below the longest that a timer can do.
 */
const LOOK_EVERY_MS = 60_000

export function createExpiryWatch({ clock, onExpired }: ExpiryWatchDeps): ExpiryWatch {
  const ends = new Map<string, number>()
  let lookAt = Number.POSITIVE_INFINITY
  let cancel = () => {}

  function lookBy(time: number): void {
    const at = Math.min(time, clock.now() + LOOK_EVERY_MS)
    if (at >= lookAt) return
    cancel()
    lookAt = at
    cancel = clock.after(Math.max(0, at - clock.now()), look)
  }

  function look(): void {
    lookAt = Number.POSITIVE_INFINITY
    const now = clock.now()
    for (const [id, end] of [...ends]) {
      if (end > now) lookBy(end)
      else if (ends.delete(id)) onExpired(id)
    }
  }

  return {
    expect(id, expiresAt) {
      ends.set(id, expiresAt)
      lookBy(expiresAt)
    },
    forget: id => void ends.delete(id),
  }
}
