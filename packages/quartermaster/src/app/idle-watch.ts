import type { Clock } from '../core/kernel/index.ts'

export interface IdleWatchDeps {
  readonly clock: Clock
  readonly idleMs: number
  /** Whether someone is connected or something runs right now. */
  isBusy(): boolean
  /** Called once, when nobody was there for that long. */
  onIdle(): void
}

/** Notices that nobody has been there for a while. */
export interface IdleWatch {
  /** Somebody came by, however shortly. */
  touch(): void
  stop(): void
}

/** Looks four times in the idle time, so that it ends at most a quarter late. */
export function createIdleWatch({ clock, idleMs, isBusy, onIdle }: IdleWatchDeps): IdleWatch {
  let busyAt = clock.now()
  let cancel = clock.after(idleMs / 4, look)

  function look(): void {
    if (isBusy()) busyAt = clock.now()
    if (clock.now() - busyAt >= idleMs) return onIdle()
    cancel = clock.after(idleMs / 4, look)
  }

  return {
    touch() {
      busyAt = clock.now()
    },
    stop: () => cancel(),
  }
}
