import type { Random } from '../../../core/kernel/index.ts'

/** Whoever lived this long did not fail at starting. */
export const STABLE_MS = 5_000
/** At once, soon, and then ever later: one that falls is back before it is missed, one that cannot stand is left alone. */
export const DELAYS_MS: readonly number[] = [0, 100, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000]

/** How often it failed to stay up, one time after the other. */
export interface Falls {
  readonly count: number
}

export const NO_FALLS: Falls = { count: 0 }

/** After a life that ended. */
export function afterFall({ count }: Falls, livedMs: number): Falls {
  return { count: livedMs >= STABLE_MS ? 1 : count + 1 }
}

/** After a session that the server forgot. It is there, which is no fall; those before are made up for by a life alone. */
export function afterForgotten({ count }: Falls, livedMs: number): Falls {
  return { count: livedMs >= STABLE_MS ? 1 : Math.max(1, count) }
}

/** After a start that failed. What could not start just now cannot either when it is tried again at once. */
export function afterFailedStart({ count }: Falls): Falls {
  return { count: Math.max(2, count + 1) }
}

/** How long to wait before the next start. Several that fell together do not get up together. */
export function delayAfter({ count }: Falls, random: Random): number {
  const delay = DELAYS_MS[Math.min(count, DELAYS_MS.length) - 1] ?? 0
  return delay * (0.8 + 0.2 * random())
}
