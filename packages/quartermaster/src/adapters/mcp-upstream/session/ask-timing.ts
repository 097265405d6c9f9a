import { type Cancel, type Clock, reopening } from '../../../core/kernel/index.ts'

/** When a server is asked for a stream of changes again. */
export interface AskTiming {
  /** One has ended that lasted so long: after a pause, and ever longer ones where they go on to end soon. */
  pause(lastedMs: number): void
  /** Somebody waits for it: after so long at the latest, but not within a second of a failure, however many wait. */
  within(ms: number): void
  /** It is asked now. */
  asked(): void
  /** Something was found out, so the next pause is a short one. */
  gotOn(): void
}

const PAUSES = { firstMs: 1_000, longestMs: 30_000 }

export function createAskTiming(clock: Clock, ask: () => void): AskTiming {
  let pauseAfter = reopening(PAUSES)
  let pausedUntil = Number.NEGATIVE_INFINITY
  let cancelPause: Cancel = () => {}
  let cancelWait: Cancel = () => {}
  return {
    pause(lastedMs) {
      pausedUntil = clock.now() + PAUSES.firstMs
      cancelPause()
      cancelPause = clock.after(pauseAfter(lastedMs), ask)
    },
    within(ms) {
      cancelWait()
      const leftMs = Math.max(ms, pausedUntil - clock.now())
      if (leftMs <= 0) ask()
      else cancelWait = clock.after(leftMs, ask)
    },
    asked() {
      cancelPause()
      cancelWait()
    },
    gotOn() {
      pauseAfter = reopening(PAUSES)
    },
  }
}
