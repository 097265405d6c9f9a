import { type Cancel, type Clock, reopening } from '../../../core/kernel/index.ts'

/** When a server is asked for a stream of changes again. */
export interface AskTiming {
  /** One has ended: after a pause, and ever longer ones where they go on to end soon. */
  pause(ended: EndedAsk): void
  /** One has failed for good. */
  failed(): void
  /**
   * Somebody waits for it: after so long at the latest, but not within a second of a failure, nor before the server wants to be
   * asked again, however many wait.
   */
  within(ms: number): void
  /** It is asked now. */
  asked(): void
  /** Something was found out, so the next pause is a short one. */
  gotOn(): void
  stop(): void
}

export interface EndedAsk {
  readonly lastedMs: number
  /** For how long the server asks to be left alone. */
  readonly retryAfterMs?: number | undefined
  /** Whether the server has told of changes before, and so is worth asking more often. */
  readonly hasTold: boolean
}

/** Whoever never told of changes may have decided never to. */
const PAUSES = { firstMs: 1_000, longestMs: 5 * 60_000 }
const LONGEST_OF_TELLING_MS = 30_000
/** However long a server asks for. */
const LONGEST_ASKED_MS = 60_000

export function createAskTiming(clock: Clock, ask: () => void): AskTiming {
  let pauseAfter = reopening(PAUSES)
  let pausedUntil = Number.NEGATIVE_INFINITY
  let cancelPause: Cancel = () => {}
  let cancelWait: Cancel = () => {}

  function stop(): void {
    cancelPause()
    cancelWait()
  }

  function hold(ms = 0): void {
    pausedUntil = clock.now() + Math.max(ms, PAUSES.firstMs)
  }

  return {
    pause({ lastedMs, retryAfterMs = 0, hasTold }) {
      const leastMs = Math.min(retryAfterMs, LONGEST_ASKED_MS)
      const grownMs = Math.min(pauseAfter(lastedMs), hasTold ? LONGEST_OF_TELLING_MS : PAUSES.longestMs)
      hold(leastMs)
      cancelPause()
      cancelPause = clock.after(Math.max(leastMs, grownMs), ask)
    },
    failed: hold,
    within(ms) {
      cancelWait()
      const leftMs = Math.max(ms, pausedUntil - clock.now())
      if (leftMs <= 0) ask()
      else cancelWait = clock.after(leftMs, ask)
    },
    asked: stop,
    stop,
    gotOn() {
      pauseAfter = reopening(PAUSES)
    },
  }
}
