import type { Clock } from '../../core/kernel/index.ts'

/** The machine's time. It starts at the wall clock and then only counts, so that setting the clock moves no deadline. */
export function createSystemClock(): Clock {
  return {
    now: () => performance.timeOrigin + performance.now(),
    after(ms, task) {
      const timer = setTimeout(task, Math.max(0, Math.min(ms, LONGEST_MS)))
      timer.unref()
      return () => clearTimeout(timer)
    },
    breathe: () => new Promise(resolve => setImmediate(resolve)),
  }
}

/** Beyond this Node fires at once. */
const LONGEST_MS = 2 ** 31 - 1
