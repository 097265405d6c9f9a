import type { Clock } from '../core/kernel/index.ts'

/** A clock that stands still until a test moves it. */
export interface FakeClock extends Clock {
  /** Moves time on, running every task that falls due in its order, each with its turn of the event loop. */
  advance(ms: number): Promise<void>
}

interface Task {
  readonly at: number
  readonly run: () => void
}

export function createFakeClock(start = 1_700_000_000_000): FakeClock {
  let now = start
  const tasks = new Set<Task>()
  const breathe = () => new Promise<void>(resolve => setImmediate(resolve))

  async function advance(ms: number): Promise<void> {
    const end = now + ms
    await breathe()
    for (;;) {
      const next = [...tasks].toSorted((a, b) => a.at - b.at)[0]
      if (!next || next.at > end) break
      tasks.delete(next)
      now = Math.max(now, next.at)
      next.run()
      await breathe()
    }
    now = end
    await breathe()
  }

  return {
    now: () => now,
    after(ms, run) {
      const task = { at: now + ms, run }
      tasks.add(task)
      return () => void tasks.delete(task)
    },
    breathe,
    advance,
  }
}

/** Lets time pass until something is over. */
export async function whileAdvancing<T>(clock: FakeClock, work: Promise<T>, stepMs = 500): Promise<T> {
  const over = work.then(
    () => true,
    () => true,
  )
  const step = async () => {
    await clock.advance(stepMs)
    await new Promise(resolve => setImmediate(resolve))
    return false
  }
  while (!(await Promise.race([over, step()])));
  return work
}
