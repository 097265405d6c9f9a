import type { Cancel, Clock } from '../../../core/kernel/index.ts'

/** Tells that something may have been missed: at once, and ever more seldom where that goes on. */
export interface GapTeller {
  missed(): void
  stop(): void
}

/** A server whose streams never last would have everybody look again all the time. */
const PAUSE_MS = { least: 5_000, most: 30_000 }

export function createGapTeller(clock: Clock, tell: () => void): GapTeller {
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
