import type { CancelSignal, Clock } from '../kernel/index.ts'
import type { StoreNews } from '../store/index.ts'
import type { Watchers } from './watchers.ts'

export interface WaitDeps {
  readonly clock: Clock
  readonly watchers: Watchers
  /** Absent where no other process shares the store. */
  readonly news?: Pick<StoreNews, 'isHeard'> | undefined
}

export interface WaitOptions {
  readonly workspaceId: string
  readonly waitMs: number
  readonly signal?: CancelSignal | undefined
  /** Told now and then for as long as it lasts: many clients give up on a call that they hear nothing of. */
  readonly onWaiting?: (() => void) | undefined
}

/** What a look has found; or when to look again even if nothing happens. */
export type Look<T> = { readonly found: T } | { readonly again?: number | undefined }

/** While nothing is heard of what other processes do, everybody looks by itself this often. */
const LOOK_MS = 1_000
const TELL_MS = 15_000

/**
 * Looks until something is found, the time is over, the signal is given or everything ends; nothing then. What happens between a
 * look and the wait behind it is not missed.
 */
export async function waitUntilFound<T>(
  { clock, watchers, news }: WaitDeps,
  { workspaceId, waitMs, signal, onWaiting }: WaitOptions,
  look: () => Promise<Look<T>>,
): Promise<T | undefined> {
  const until = clock.now() + waitMs
  let tellAt = onWaiting ? clock.now() + TELL_MS : until
  const bell = createBell()
  const leave = watchers.watch(workspaceId, bell.ring)
  signal?.addEventListener('abort', bell.ring)
  try {
    for (;;) {
      bell.reset()
      const seen = await look()
      if ('found' in seen) return seen.found
      const left = until - clock.now()
      if (left <= 0 || signal?.aborted || watchers.isStopped()) return undefined
      const next = Math.min(until, tellAt, seen.again ?? until) - clock.now()
      const soonest = news?.isHeard() === false ? Math.min(LOOK_MS, next) : next
      const cancel = clock.after(Math.max(1, soonest), bell.ring)
      await bell.rung()
      cancel()
      if (signal?.aborted) return undefined
      if (clock.now() < tellAt || clock.now() >= until) continue
      onWaiting?.()
      tellAt = clock.now() + TELL_MS
    }
  } finally {
    leave()
    signal?.removeEventListener('abort', bell.ring)
  }
}

/** Remembers that it rang until somebody waits for it. */
function createBell() {
  let hasRung = false
  let wake: (() => void) | undefined
  return {
    reset() {
      hasRung = false
    },
    ring() {
      hasRung = true
      wake?.()
    },
    rung: () =>
      new Promise<void>(resolve => {
        if (hasRung) resolve()
        else wake = resolve
      }),
  }
}
