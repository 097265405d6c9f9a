import type { Clock } from '../../core/kernel/index.ts'

/** Where a machine's time comes from, in milliseconds since 1970. */
export interface TimeSource {
  /** What the machine says; people and time servers set it. */
  wall(): number
  /** What it was at the start, and what was counted since; stands still while the machine sleeps. */
  counted(): number
}

/** Beyond this the machine has slept or its clock was put forward; less is the drift that time servers mend. */
const MISSED_MS = 2_000

/**
 * The machine's time. It starts at the wall clock and then counts, so that it never goes back. Time that was missed is
 * caught up with: it is stored as the end of tokens and the time of calls, and a night asleep must not prolong a token.
 */
export function createSystemClock(source: TimeSource = MACHINE): Clock {
  let missed = 0
  return {
    now() {
      const counted = source.counted() + missed
      const behind = source.wall() - counted
      if (behind <= MISSED_MS) return counted
      missed += behind
      return counted + behind
    },
    after(ms, task) {
      const timer = setTimeout(task, Math.max(0, Math.min(ms, LONGEST_MS)))
      timer.unref()
      return () => clearTimeout(timer)
    },
    breathe: () => new Promise(resolve => setImmediate(resolve)),
  }
}

const MACHINE: TimeSource = {
  wall: () => Date.now(),
  counted: () => performance.timeOrigin + performance.now(),
}

/** Beyond this Node fires at once. */
const LONGEST_MS = 2 ** 31 - 1
