// @ts-check
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'

/** The most that the event loop should be held at a stretch: whoever asks `/health` meanwhile waits that long. */
export const HELD_MS = 50

/** The monitor's own timer fires once in this time, so that much of every delay is not a delay. */
const RESOLUTION_MS = 1

/** Watches for how long the event loop is held at a stretch, until `longestMs` is asked for. */
export function watchLoop() {
  const monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  monitor.enable()
  return {
    async longestMs() {
      // A hold shows when the loop turns again, so it gets the chance to.
      await wait(RESOLUTION_MS * 5)
      monitor.disable()
      return Math.max(0, monitor.max / 1e6 - RESOLUTION_MS)
    },
  }
}
