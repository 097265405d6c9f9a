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
}

/** What a look has found; or when to look again even if nothing happens. */
export type Look<T> = { readonly found: T } | { readonly again?: number | undefined }

/** While nothing is heard of what other processes do, everybody looks by itself this often. */
const LOOK_MS = 1_000

/**
 * Looks until something is found, the time is over, the signal is given or everything ends; nothing then. What happens between a
 * look and the wait behind it is not missed.
 */
export async function waitUntilFound<T>(
  { clock, watchers, news }: WaitDeps,
  { workspaceId, waitMs, signal }: WaitOptions,
  look: () => Promise<Look<T>>,
): Promise<T | undefined> {
  const until = clock.now() + waitMs
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
      const soonest = Math.min(left, (seen.again ?? until) - clock.now(), news?.isHeard() === false ? LOOK_MS : left)
      const cancel = clock.after(Math.max(1, soonest), bell.ring)
      await bell.rung()
      cancel()
      if (signal?.aborted) return undefined
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
