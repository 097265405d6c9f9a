import type { Clock, FollowingClock } from '../../core/kernel/index.ts'

/** Where a machine's time comes from, in milliseconds since 1970. */
interface TimeSource {
  /** The machine's clock; people and time servers set it. */
  wall(): number
  /** The time at start plus the time counted since; stands still while the machine sleeps. */
  counted(): number
}

/** Beyond this the machine has slept or its clock was put forward; less is the drift that time servers fix. */
const MISSED_MS = 2_000
/** How long a clock that follows another waits for it; then it uses the machine's time, so that deadlines still expire. */
const DOUBT_MS = 2_000

/**
 * The machine's time. It starts at the wall clock and then counts, so that it never goes back. Time that was missed is
 * caught up with: it is stored as the end of tokens and the time of calls, and a night asleep must not prolong a token.
 */
export function createSystemClock(source: TimeSource = MACHINE): FollowingClock {
  let missed = 0
  // The machine's time, for users of another clock.
  let wrongBy = 0
  let onDoubt: (() => void) | undefined
  let doubtedAt: number | undefined

  /** It cannot be told here whether the machine slept or its clock was put forward. */
  function isInDoubt(counted: number): boolean {
    if (!onDoubt) return false
    if (doubtedAt === undefined) {
      doubtedAt = counted
      onDoubt()
    }
    return counted - doubtedAt < DOUBT_MS
  }

  return {
    now() {
      const counted = source.counted() + missed
      const behind = source.wall() - wrongBy - counted
      if (behind <= MISSED_MS || isInDoubt(counted)) return counted
      doubtedAt = undefined
      missed += behind
      return counted + behind
    },
    after,
    breathe: () => new Promise(resolve => setImmediate(resolve)),
    setTo(time) {
      missed = time - source.counted()
      wrongBy = source.wall() - time
      doubtedAt = undefined
    },
    onDoubt(ask) {
      onDoubt = ask
    },
  }
}

const after: Clock['after'] = (ms, task) => {
  const timer = setTimeout(task, Math.max(0, Math.min(ms, LONGEST_MS)))
  timer.unref()
  return () => clearTimeout(timer)
}

/**
 * Keeps the process alive while a caller awaits `work`. Timers of the clock do not, and a program in which only a deadline is
 * left to happen would end before it, with exit code 13.
 */
export async function keptAlive<T>(work: PromiseLike<T>): Promise<T> {
  const timer = setInterval(() => {}, LONGEST_MS)
  try {
    return await work
  } finally {
    clearInterval(timer)
  }
}

/** The same object, whose methods keep the process alive until what they promise has settled. */
export function keepingAlive<T extends object>(methods: T): T {
  const keeping = Object.entries(methods).map(([name, method]) => [name, isFunction(method) ? kept(method) : method])
  return Object.fromEntries(keeping)
}

type AnyFunction = (...given: unknown[]) => unknown

const isFunction = (value: unknown): value is AnyFunction => typeof value === 'function'

function kept(method: AnyFunction): AnyFunction {
  return (...given) => {
    const answer = method(...given)
    return answer instanceof Promise ? keptAlive(answer) : answer
  }
}

// Read once: the time is asked for many times in a call, and this never changes.
const STARTED_AT = performance.timeOrigin

const MACHINE: TimeSource = {
  wall: () => Date.now(),
  counted: () => STARTED_AT + performance.now(),
}

/** Beyond this Node fires at once. */
const LONGEST_MS = 2 ** 31 - 1
